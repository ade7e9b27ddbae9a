package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import java.util.concurrent.locks.LockSupport;

/** Waits for commands whose memory may be used for something else, or freed, afterwards. */
final class DriverWait {
  /** A driver without memory for a wait may have some a little later. */
  private static final int ATTEMPTS = 100;

  private static final long PAUSE_NANOS = 1_000_000;

  private DriverWait() {}

  /**
   * Calls a function that waits for commands. If the call fails, the commands may not have ended,
   * so this method calls the function again, but not forever: some failures last.
   *
   * @throws AcceleratorException if the device is lost, or if the driver repeatedly refuses to wait
   */
  static void untilEnded(Runnable wait) {
    for (int attempt = 1; ; attempt++) {
      try {
        wait.run();
        return;
      } catch (AcceleratorException failed) {
        if (failed.code() == ErrorCodes.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
          // The commands have ended, and one of them failed. Its own status says why.
          return;
        }
        if (failed.kind() == AcceleratorException.Kind.DEVICE_LOST || attempt == ATTEMPTS) {
          throw failed;
        }
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }
}
