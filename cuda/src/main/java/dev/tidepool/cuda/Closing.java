package dev.tidepool.cuda;

/** Steps of a close that must all be tried, whatever a lost device answers. */
final class Closing {
  private Closing() {}

  /** Runs a step; its failure is logged and ends nothing. */
  static void surviving(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException failed) {
      System.getLogger(Closing.class.getName())
          .log(System.Logger.Level.WARNING, "a step failed while closing", failed);
    }
  }
}
