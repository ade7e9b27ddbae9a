package dev.tidepool.metal;

import dev.tidepool.host.DriverSegment;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Shutdown;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A buffer of a device ({@code id<MTLBuffer>}), or an aligned part of one.
 *
 * <p>A block is freed once, by its owner, when no command uses it any more; a second free is a
 * mistake that is reported and does no harm. Closed before the memory under it ends, where that is
 * not Metal's.
 */
final class MetalBlock implements Block {
  private final DeviceMemory owner;
  private final long buffer;
  private final long start;
  private final long byteSize;
  private final @Nullable MemorySegment memory;
  private final @Nullable DriverSegment view;
  private final AtomicBoolean freed = new AtomicBoolean();

  /**
   * Creates a block that holds a buffer.
   *
   * @param start the byte of the buffer that it begins at
   * @param memory its bytes as the host reaches them, without a scope; null if it does not
   * @param own whether the bytes are Metal's, so that a segment of the block's own covers them
   */
  MetalBlock(
      DeviceMemory owner,
      long buffer,
      long start,
      long byteSize,
      @Nullable MemorySegment memory,
      boolean own) {
    this.owner = owner;
    this.buffer = buffer;
    this.start = start;
    this.byteSize = byteSize;
    this.memory = memory;
    this.view = memory != null && own ? new DriverSegment(memory) : null;
  }

  DeviceMemory owner() {
    return owner;
  }

  /** Returns the buffer, for commands. */
  long buffer() {
    if (freed.get()) {
      throw new IllegalStateException("a block of " + byteSize + " bytes is used after its free");
    }
    return buffer;
  }

  /** Where a byte of the block is in its buffer. */
  long at(long offset) {
    return start + offset;
  }

  @Override
  public long byteSize() {
    return byteSize;
  }

  @Override
  public HostAccess hostAccess() {
    return memory == null ? HostAccess.NONE : HostAccess.DIRECT;
  }

  @Override
  public @Nullable MemorySegment segment() {
    return view == null ? memory : view.segment();
  }

  @Override
  public void free() {
    if (!freed.compareAndSet(false, true)) {
      throw new IllegalStateException("a block of " + byteSize + " bytes was freed twice");
    }
    owner.forget(this);
    if (view != null) {
      view.close();
    }
    if (!Shutdown.hasBegun()) {
      NativeCall.release(ObjectKind.BUFFER, buffer);
    }
  }
}
