package dev.tidepool.spi;

/**
 * The end of a command. Closed by the code that got it; closing does not affect the command.
 * Thread-safe.
 */
public interface Event extends AutoCloseable {
  /** Returns whether the command ended, well or not. Never blocks. */
  boolean isDone();

  /**
   * Waits for the command's end; called on platform threads. Not interruptible: an interrupt stays
   * set.
   *
   * @throws dev.tidepool.AcceleratorException if the command failed, with the driver's code
   */
  void await();

  @Override
  void close();
}
