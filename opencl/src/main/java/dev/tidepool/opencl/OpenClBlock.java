package dev.tidepool.opencl;

import dev.tidepool.host.DriverSegment;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Memory in OpenCL: a buffer object, a pointer that host and device share, or host memory that only
 * copies reach. Only the commands that access the bytes depend on the kind.
 *
 * <p>The owner frees a block once, when no command uses it any more. A second free is reported as
 * an error and does no harm.
 */
abstract sealed class OpenClBlock implements Block
    permits BufferBlock, SharedPointerBlock, PinnedBlock {
  private final long byteSize;
  private final DeviceMemory owner;
  private final @Nullable DriverSegment view;
  private final AtomicBoolean freed = new AtomicBoolean();

  /**
   * Creates a block, whose owner counts it as allocated.
   *
   * @param hostMemory the bytes as the host accesses them, without a scope; null if it cannot
   */
  OpenClBlock(DeviceMemory owner, long byteSize, @Nullable MemorySegment hostMemory) {
    this.owner = owner;
    this.byteSize = byteSize;
    this.view = hostMemory == null ? null : new DriverSegment(hostMemory);
  }

  @Override
  public final long byteSize() {
    return byteSize;
  }

  @Override
  public final @Nullable MemorySegment segment() {
    return view == null ? null : view.segment();
  }

  @Override
  public abstract HostAccess hostAccess();

  @Override
  public final void free() {
    if (!freed.compareAndSet(false, true)) {
      throw new IllegalStateException("a block of " + byteSize + " bytes was freed twice");
    }
    owner.forget(this);
    if (view != null) {
      view.close();
    }
    release();
  }

  /** Releases the driver's objects; the host can no longer access the memory. */
  abstract void release();

  final Context context() {
    return owner.context();
  }

  final void requireLive() {
    if (freed.get()) {
      throw new IllegalStateException("a block of " + byteSize + " bytes is used after its free");
    }
  }
}
