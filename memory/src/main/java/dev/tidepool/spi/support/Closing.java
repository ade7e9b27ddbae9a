package dev.tidepool.spi.support;

/** Steps of a close that must all be tried, whatever a broken driver answers. */
public final class Closing {
  private Closing() {}

  /** Runs a step; its failure is logged and ends nothing. */
  public static void surviving(String step, Runnable action) {
    try {
      action.run();
    } catch (RuntimeException failed) {
      System.getLogger(Closing.class.getName())
          .log(System.Logger.Level.WARNING, step + " failed while closing", failed);
    }
  }
}
