package dev.tidepool.runtime;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A block that a session's resources remember until it is freed. The device gets the {@linkplain
 * #whole() block} itself. Compared by identity.
 */
final class TrackedBlock implements Block {
  private final SessionResources resources;
  private final Block block;

  TrackedBlock(SessionResources resources, Block block) {
    this.resources = resources;
    this.block = block;
  }

  @Override
  public long byteSize() {
    return block.byteSize();
  }

  @Override
  public HostAccess hostAccess() {
    return block.hostAccess();
  }

  @Override
  public @Nullable MemorySegment segment() {
    return block.segment();
  }

  @Override
  public Block whole() {
    return block.whole();
  }

  @Override
  public long start() {
    return block.start();
  }

  @Override
  public void free() {
    resources.closed(this);
    block.free();
  }
}
