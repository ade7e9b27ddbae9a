package dev.tidepool.runtime.storage;

/**
 * The bytes of a storage that were moved out of memory when memory was short. {@link Coherence}
 * calls {@link #bringBack} before an access.
 *
 * <p>An interface, so that {@code Coherence} and its implementation form no cycle of classes.
 */
interface SpilledBytes {
  /**
   * Allocates memory for the storage; its lock {@code moving} is held. If this fails, the bytes
   * stay in their place.
   *
   * @param read whether the bytes are needed; if not, the contents of the memory are undefined
   */
  void bringBack(boolean read);
}
