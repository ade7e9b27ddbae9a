package dev.tidepool.runtime.storage;

/**
 * The bytes of a storage that have no memory, because they were moved elsewhere when memory was
 * short. {@link Coherence} calls this before an access.
 *
 * <p>An interface, so that {@code Coherence} and what moves the bytes form no cycle of classes.
 */
interface SpilledBytes {
  /**
   * Gives the storage memory again; its lock {@code moving} is held. If that fails, the bytes stay
   * where they are.
   *
   * @param read whether the bytes are needed; if not, the memory has any contents
   */
  void bringBack(boolean read);
}
