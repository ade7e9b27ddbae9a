package dev.tidepool.testkit.simulated;

/** What a simulated device does with commands behind one that failed. */
public enum FailureModel {
  /**
   * The device is lost: no command behind it runs, on any queue, and every question about an event
   * that was not asked before fails, also where the command had ended well. CUDA does so.
   */
  STICKY,

  /**
   * A command that depends on the failed one is not run and fails too; others run. OpenCL does so.
   */
  SKIPS,

  /** What comes behind it runs, as if nothing had failed. Metal may do so. */
  RUNS_ON
}
