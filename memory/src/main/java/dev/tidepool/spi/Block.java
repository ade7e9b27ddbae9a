package dev.tidepool.spi;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Memory that one driver call allocated; the unit that pools keep.
 *
 * <p>Its owner (the pool, or the runtime) frees it exactly once. Once freed, every segment on it
 * fails with an {@link IllegalStateException}: never a crash.
 */
public interface Block {
  /** Returns its bytes. */
  long byteSize();

  /** How the host reaches it. */
  HostAccess hostAccess();

  /**
   * Returns its bytes as the host sees them, of exactly {@link #byteSize()}, reachable by all
   * threads; null if {@link #hostAccess()} is NONE. Always returns one object.
   */
  @Nullable MemorySegment segment();

  /**
   * Returns the block that the driver knows: this one, or the larger one that this is a part of.
   */
  default Block whole() {
    return this;
  }

  /**
   * Returns the byte of {@link #whole()} that this begins at. Devices are only given whole blocks.
   */
  default long start() {
    return 0;
  }

  /**
   * Gives the memory back. No command may be using it any more.
   *
   * @throws dev.tidepool.AcceleratorException if the driver refuses; the block counts as gone
   */
  void free();
}
