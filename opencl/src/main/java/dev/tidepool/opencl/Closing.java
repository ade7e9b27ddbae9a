package dev.tidepool.opencl;

/** Steps that must all be tried when something is closed, whatever a broken driver answers. */
final class Closing {
  private Closing() {}

  /** Runs a step; its failure is logged and ends nothing. */
  static void surviving(String step, Runnable action) {
    try {
      action.run();
    } catch (RuntimeException failed) {
      System.getLogger(Closing.class.getName())
          .log(System.Logger.Level.WARNING, step + " failed while closing", failed);
    }
  }
}
