package dev.tidepool.spi;

import java.util.concurrent.locks.LockSupport;

/** Waits for commands whose memory is reused or freed afterwards. */
public final class EventWait {
  private static final long RETRY_NANOS = 1_000_000;

  private EventWait() {}

  /**
   * Waits for the end of a command. Retries if the heap or the stack is exhausted: the command may
   * be running, and its memory must not be freed before it has ended.
   *
   * @throws dev.tidepool.AcceleratorException if the command failed
   */
  public static void untilEnded(Event event) {
    while (true) {
      try {
        event.await();
        return;
      } catch (OutOfMemoryError | StackOverflowError e) {
        LockSupport.parkNanos(RETRY_NANOS);
      }
    }
  }
}
