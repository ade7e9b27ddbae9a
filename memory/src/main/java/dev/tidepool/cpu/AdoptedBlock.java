package dev.tidepool.cpu;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;

/** Memory that the library does not own and that kernels use directly. */
record AdoptedBlock(MemorySegment segment) implements Block {
  @Override
  public long byteSize() {
    return segment.byteSize();
  }

  @Override
  public HostAccess hostAccess() {
    return HostAccess.DIRECT;
  }

  /** Does nothing: the memory belongs to its owner. */
  @Override
  public void free() {}
}
