package dev.tidepool.spi;

/**
 * A queue that code outside of Tidepool submits commands to: one of Tidepool's own, or one that
 * such code made. Thread-safe.
 */
public interface NativeQueue extends AutoCloseable {
  /**
   * Returns the driver's handle; 0 where the device has no queues, and for CUDA's default stream.
   */
  default long handle() {
    return 0;
  }

  /**
   * What is submitted after this, by any thread, begins when a command of any queue of the same
   * provider has ended, well or not. A device whose launches are ordered {@linkplain
   * LaunchOrder#ACROSS_QUEUES across queues} does not block the calling thread for an event of its
   * own; others may.
   */
  void after(Event event);

  /**
   * Returns the end of everything that was submitted until now, by any code. Commands in a queue
   * out of order are all waited for.
   */
  Event mark();

  /** Waits until all commands have ended, well or not; called on platform threads. */
  void finish();

  /** Ends what Tidepool holds of the queue. Idempotent; survives a lost device. */
  @Override
  void close();
}
