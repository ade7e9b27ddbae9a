package dev.tidepool.spi;

/** One process's use of memory that {@link DeviceSharing} shares. Thread-safe. */
public interface SharedBlock extends AutoCloseable {
  /**
   * Returns the memory; at least one byte, also for no elements. It belongs to this object: {@link
   * #close}, not {@link Block#free}, gives it back.
   */
  Block block();

  /** Returns the number of elements. */
  long length();

  /** Ends this use; no command uses the block any more. Idempotent, and throws nothing. */
  @Override
  void close();
}
