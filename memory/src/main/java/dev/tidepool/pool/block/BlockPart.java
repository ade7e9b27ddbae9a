package dev.tidepool.pool.block;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A range of a block. Its memory is freed with the whole block. */
public final class BlockPart implements Block {
  private final Block whole;
  private final long start;
  private final long bytes;
  private final @Nullable MemorySegment segment;

  /** Creates a part of a block, from a start. */
  public BlockPart(Block whole, long start, long bytes) {
    this.whole = whole;
    this.start = start;
    this.bytes = bytes;
    MemorySegment all = whole.segment();
    this.segment = all == null ? null : all.asSlice(start, bytes);
  }

  @Override
  public long byteSize() {
    return bytes;
  }

  @Override
  public HostAccess hostAccess() {
    return whole.hostAccess();
  }

  @Override
  public @Nullable MemorySegment segment() {
    return segment;
  }

  @Override
  public Block whole() {
    return whole.whole();
  }

  @Override
  public long start() {
    return whole.start() + start;
  }

  /** Throws an exception: a part cannot be freed alone. */
  @Override
  public void free() {
    throw new IllegalStateException("a part of a block is freed with the whole");
  }
}
