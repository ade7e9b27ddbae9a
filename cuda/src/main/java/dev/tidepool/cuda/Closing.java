package dev.tidepool.cuda;

import java.lang.System.Logger.Level;

/** Steps of a close that must all be tried, whatever a lost device answers. */
final class Closing {
  private Closing() {}

  /** Runs a step; its failure is logged and ends nothing. */
  static void surviving(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException failed) {
      Log.write(Closing.class, Level.WARNING, "a step failed while closing", failed);
    }
  }
}
