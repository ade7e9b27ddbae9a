package dev.tidepool.pool;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A block and what the pool remembers of it, from its allocation to its end.
 *
 * <p>Ownership passes with the object: whoever took it out of a slot or list, or holds its lease,
 * alone may change it. Slots (by compare-and-set) and lists (by their lock) publish the fields to
 * the next owner, so they are plain. Maintenance looks at idle blocks without owning them: what it
 * reads then is a hint, which it checks once it has taken the block.
 */
final class PooledBlock {
  /** The class of blocks that the pool never keeps. */
  static final int NOT_KEPT = -1;

  final Block block;

  /** Bytes that count against the caps. */
  final long bytes;

  final int sizeClass;

  /** How often it was leased again after its first lease. */
  long hits;

  /** The pool's clock when it became idle. */
  long idleTick;

  /** When maintenance found it idle; true as long as {@link #hits} is still {@link #seenHits}. */
  long seenNanos;

  /** What {@link #hits} was then. Both are written by maintenance, under its lock. */
  long seenHits = -1;

  /** Neighbours in the list of its class, towards the more and the less recently used. */
  @Nullable PooledBlock newer;

  @Nullable PooledBlock older;

  /** Whether it is in that list. */
  boolean listed;

  PooledBlock(Block block, long bytes, int sizeClass) {
    this.block = block;
    this.bytes = bytes;
    this.sizeClass = sizeClass;
  }

  /** Clears what it holds, if the host may touch it now. */
  void zero() {
    MemorySegment segment = block.segment();
    if (segment != null && block.hostAccess() == HostAccess.DIRECT) {
      segment.fill((byte) 0);
    }
  }
}
