package dev.tidepool.testkit.simulated;

/** The effect of a failed command on later commands of a simulated device. */
public enum FailureModel {
  /**
   * The device is lost: no later command runs on any queue, and waits for events fail unless their
   * success was already observed. CUDA does this.
   */
  STICKY,

  /**
   * A command that depends on the failed one does not run and fails too; others run, as in OpenCL.
   */
  SKIPS,

  /** Later commands run as if no command had failed. Metal may do this. */
  RUNS_ON
}
