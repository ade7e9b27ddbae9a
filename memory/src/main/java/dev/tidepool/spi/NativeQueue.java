package dev.tidepool.spi;

/**
 * A queue to which code outside of Tidepool submits commands. Tidepool or that code created it.
 * Thread-safe.
 */
public interface NativeQueue extends AutoCloseable {
  /** Returns the driver's handle; 0 if the device has no queues, and for CUDA's default stream. */
  default long handle() {
    return 0;
  }

  /**
   * Makes commands that any thread submits after this call wait for an event, of any queue of the
   * same provider, whether it succeeds or fails. A device whose launches are ordered {@linkplain
   * LaunchOrder#ACROSS_QUEUES across queues} does not block the calling thread for its own events;
   * other devices may.
   */
  void after(Event event);

  /**
   * Returns the end of all commands that any code has submitted so far, also in an out-of-order
   * queue.
   */
  Event mark();

  /** Waits until all commands have ended, successfully or not. Called on platform threads. */
  void finish();

  /** Releases Tidepool's resources. Idempotent; must not fail if the device is lost. */
  @Override
  void close();
}
