package dev.tidepool.opencl;

import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * One lock for the commands of PoCL's drivers that cannot take them from several threads at once.
 *
 * <p>The thread that holds the lock enqueues commands and waits for their end. That wait depends on
 * no other thread of this process: everything that was enqueued under the lock before has ended.
 * The lock is one for the process, because devices of one context complete each other's events.
 */
final class SerialCommands {
  private static final ReentrantLock LOCK = new ReentrantLock();

  private SerialCommands() {}

  /** Runs an action that enqueues commands and waits for their end. */
  static <T> T alone(Supplier<T> commands) {
    LOCK.lock();
    try {
      return commands.get();
    } finally {
      LOCK.unlock();
    }
  }

  /**
   * Like {@link #alone}, for all commands of a device; runs them directly if its driver is
   * thread-safe.
   */
  static <T> T of(DeviceProperties device, Supplier<T> commands) {
    return device.runsCommandsAlone() ? alone(commands) : commands.get();
  }

  /** Like {@link #of(DeviceProperties, Supplier)} without a result. */
  static void of(DeviceProperties device, Runnable commands) {
    of(
        device,
        () -> {
          commands.run();
          return true;
        });
  }
}
