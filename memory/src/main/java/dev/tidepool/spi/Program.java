package dev.tidepool.spi;

/** Compiled code of one device. Any thread may launch it, any number of times. */
public interface Program extends AutoCloseable {
  /**
   * Returns whether launches have one more argument after the parameters: an array of four ints,
   * initially 0, that reports a failed item. The first int is then the number of the place in the
   * source, from 1, and the second is an array index.
   */
  default boolean reportsFaults() {
    return false;
  }

  /** Frees the code. No launch may be running. */
  @Override
  void close();
}
