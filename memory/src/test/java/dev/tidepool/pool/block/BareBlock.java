package dev.tidepool.pool.block;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A block that is only passed around. */
final class BareBlock implements Block {
  @Override
  public long byteSize() {
    return 1;
  }

  @Override
  public HostAccess hostAccess() {
    return HostAccess.NONE;
  }

  @Override
  public @Nullable MemorySegment segment() {
    return null;
  }

  @Override
  public void free() {}
}
