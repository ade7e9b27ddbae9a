package dev.tidepool.cuda;

import dev.tidepool.host.DriverSegment;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Shutdown;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A block of the driver's memory. Host and devices use the same addresses, so every block has one,
 * whatever its kind.
 *
 * <p>The owner frees a block once, when no command uses it any more. A second free is reported as
 * an error and does no harm.
 */
final class CudaBlock implements Block {
  private final DeviceMemory owner;
  private final MemorySource source;
  private final HostAccess hostAccess;
  private final long allocation;
  private final long address;
  private final long byteSize;
  private final @Nullable DriverSegment view;
  private final AtomicBoolean freed = new AtomicBoolean();

  /**
   * Creates a block within an allocation.
   *
   * @param allocation the start of the driver's memory, which may be before the block
   */
  CudaBlock(
      DeviceMemory owner,
      MemorySource source,
      HostAccess hostAccess,
      long allocation,
      long address,
      long byteSize) {
    this.owner = owner;
    this.source = source;
    this.hostAccess = hostAccess;
    this.allocation = allocation;
    this.address = address;
    this.byteSize = byteSize;
    this.view =
        hostAccess == HostAccess.NONE
            ? null
            : new DriverSegment(MemorySegment.ofAddress(address).reinterpret(byteSize));
  }

  DeviceMemory owner() {
    return owner;
  }

  BlockKind kind() {
    return source.kind();
  }

  /** Returns this block, if commands can use it. */
  CudaBlock requireDevices() {
    if (kind() == BlockKind.PINNED) {
      throw new IllegalArgumentException(
          "a PINNED block of "
              + byteSize
              + " bytes is memory of the host, which no command takes; write and read its segment");
    }
    return this;
  }

  MemorySource source() {
    return source;
  }

  /** Returns the start of the driver's memory. */
  long allocation() {
    return allocation;
  }

  /** Returns the start of the block, for host and device. */
  long address() {
    if (freed.get()) {
      throw new IllegalStateException("a block of " + byteSize + " bytes is used after its free");
    }
    return address;
  }

  @Override
  public long byteSize() {
    return byteSize;
  }

  @Override
  public HostAccess hostAccess() {
    return hostAccess;
  }

  @Override
  public @Nullable MemorySegment segment() {
    return view == null ? null : view.segment();
  }

  @Override
  public void free() {
    if (!freed.compareAndSet(false, true)) {
      throw new IllegalStateException("a block of " + byteSize + " bytes was freed twice");
    }
    if (view != null) {
      view.close();
    }
    if (!Shutdown.hasBegun()) {
      owner.free(this);
    }
  }
}
