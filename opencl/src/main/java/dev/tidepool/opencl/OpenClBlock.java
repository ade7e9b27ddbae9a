package dev.tidepool.opencl;

import dev.tidepool.host.DriverSegment;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Memory as OpenCL knows it: a buffer object, a pointer that host and device share, or memory of
 * the host that only copies reach. How a command gets at the bytes depends on which it is, and
 * nothing else does.
 *
 * <p>A block is freed once, by its owner, when no command uses it any more; a second free is a
 * mistake that is reported and does no harm.
 */
abstract sealed class OpenClBlock implements Block
    permits BufferBlock, SharedPointerBlock, PinnedBlock {
  private final long byteSize;
  private final DeviceMemory owner;
  private final @Nullable DriverSegment view;
  private final AtomicBoolean freed = new AtomicBoolean();

  /**
   * Creates a block that counts as allocated from now on.
   *
   * @param hostMemory the bytes as the host reaches them, without a scope; null if it cannot
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

  /** Gives the driver's objects back; the host can no longer reach the memory. */
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
