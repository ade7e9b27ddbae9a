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
 * <p>The owner frees a block once, when no command uses it any more. A second free is reported as
 * an error and does no harm. A block over memory that is not Metal's is freed before that memory is
 * released.
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
   * @param start the offset of the block in the buffer
   * @param memory the bytes as the host accesses them, without a scope; null if it cannot
   * @param own whether the bytes are Metal's, so that the block has a segment of its own over them
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

  /** Returns the offset of a byte of the block in its buffer. */
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
