package dev.tidepool.spi;

/** One process's use of memory that {@link DeviceSharing} shares. Thread-safe. */
public interface SharedBlock extends AutoCloseable {
  /**
   * Returns the memory, at least one byte even without elements. This object owns it: {@link
   * #close} frees it, not {@link Block#free}.
   */
  Block block();

  /** Returns the number of elements. */
  long length();

  /** Ends this use. No command may use the block any more. Idempotent; throws nothing. */
  @Override
  void close();
}
