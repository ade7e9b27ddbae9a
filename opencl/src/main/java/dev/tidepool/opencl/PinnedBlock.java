package dev.tidepool.opencl;

import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;

/**
 * Host memory that the device copies at full speed. In commands it is the host's end of a transfer,
 * never the device's.
 */
final class PinnedBlock extends OpenClBlock {
  private final MemorySegment memory;
  private final Runnable giveBack;

  /**
   * Creates a block over memory of the host.
   *
   * @param giveBack releases the memory
   */
  PinnedBlock(DeviceMemory owner, MemorySegment memory, Runnable giveBack) {
    super(owner, memory.byteSize(), memory);
    this.memory = memory;
    this.giveBack = giveBack;
  }

  @Override
  public HostAccess hostAccess() {
    return HostAccess.DIRECT;
  }

  /** Returns a part for the driver, without a scope. */
  MemorySegment bytes(long offset, long count) {
    return memory.asSlice(offset, count);
  }

  @Override
  void release() {
    giveBack.run();
  }
}
