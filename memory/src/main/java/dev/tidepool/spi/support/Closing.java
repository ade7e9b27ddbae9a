package dev.tidepool.spi.support;

import java.lang.System.Logger.Level;

/** Steps of a close that must all be tried, whatever a broken driver or a lost device answers. */
public final class Closing {
  private Closing() {}

  /** Runs a step; its failure, whose message names the call, is logged and ends nothing. */
  public static void surviving(Runnable action) {
    surviving("a step", action);
  }

  /**
   * Runs a step; its failure is logged and ends nothing.
   *
   * @param step what failed, for the log
   */
  public static void surviving(String step, Runnable action) {
    try {
      action.run();
    } catch (RuntimeException | Error failed) {
      DriverLog.write(Closing.class, Level.WARNING, step + " failed while closing", failed);
    }
  }
}
