package dev.tidepool.spi;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Memory that one driver call allocated. Pools keep blocks.
 *
 * <p>The owner (the pool, or the runtime) frees it exactly once. After that, every segment over it
 * must throw {@link IllegalStateException}, and never crash.
 */
public interface Block {
  /** Returns the size in bytes. */
  long byteSize();

  /** Returns how the host accesses the bytes. */
  HostAccess hostAccess();

  /**
   * Returns the segment of the host, of exactly {@link #byteSize()} bytes, accessible by all
   * threads; null if {@link #hostAccess()} is NONE. Always returns the same object.
   */
  @Nullable MemorySegment segment();

  /**
   * Returns the block that the driver allocated: this block, or the larger block that contains it.
   */
  default Block whole() {
    return this;
  }

  /**
   * Returns the offset of this block in {@link #whole()}, in bytes. Devices receive only whole
   * blocks.
   */
  default long start() {
    return 0;
  }

  /**
   * Frees the memory. No command may use it any more.
   *
   * @throws dev.tidepool.AcceleratorException if the driver refuses; the block counts as freed
   */
  void free();
}
