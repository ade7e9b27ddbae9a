package dev.tidepool.spi;

/** Compiled code of one device, for any number of launches by any thread. */
public interface Program extends AutoCloseable {
  /**
   * Returns whether launches have one more argument, behind those of the parameters: an array of
   * four ints, all 0, that tells of an item that failed. The first of them is then the number of
   * the place in the source, from 1 on, and the second an array index.
   */
  default boolean reportsFaults() {
    return false;
  }

  /** Frees it; no launch may be under way. */
  @Override
  void close();
}
