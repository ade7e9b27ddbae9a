package dev.tidepool.spi;

/**
 * The end of a command. The caller that received it closes it, which does not affect the command.
 * Thread-safe.
 */
public interface Event extends AutoCloseable {
  /** Returns whether the command has ended, successfully or not. Never blocks. */
  boolean isDone();

  /**
   * Waits for the command's end. Called on platform threads. Not interruptible: an interrupt stays
   * set.
   *
   * @throws dev.tidepool.AcceleratorException if the command failed, with the driver's code
   */
  void await();

  @Override
  void close();
}
