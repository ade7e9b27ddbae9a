package dev.tidepool.cpu;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;

/** Memory that is not the library's, which kernels use in place. */
record AdoptedBlock(MemorySegment segment) implements Block {
  @Override
  public long byteSize() {
    return segment.byteSize();
  }

  @Override
  public HostAccess hostAccess() {
    return HostAccess.DIRECT;
  }

  /** The memory is its owner's. */
  @Override
  public void free() {}
}
