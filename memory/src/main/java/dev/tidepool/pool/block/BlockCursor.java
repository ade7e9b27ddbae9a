package dev.tidepool.pool.block;

import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over the blocks of a pool, idle or taken. A caller may pause and continue later. Blocks
 * that stay in the pool meanwhile are returned once. Blocks that are added or freed meanwhile may
 * be missed. Used by one thread at a time.
 */
public final class BlockCursor implements Iterator<PooledBlock> {
  private final Iterator<PooledBlock> singles;
  private final Iterator<Slab> slabs;
  private List<PooledBlock> parts = List.of();
  private int part;
  private @Nullable PooledBlock following;

  public BlockCursor(Collection<PooledBlock> singles, SlabList slabs) {
    this.singles = singles.iterator();
    this.slabs = slabs.iterator();
  }

  @Override
  public boolean hasNext() {
    while (following == null && (part < parts.size() || singles.hasNext() || slabs.hasNext())) {
      if (part < parts.size()) {
        offer(parts.get(part++));
      } else if (singles.hasNext()) {
        offer(singles.next());
      } else {
        parts = slabs.next().parts();
        part = 0;
      }
    }
    return following != null;
  }

  private void offer(PooledBlock block) {
    following = block.ending ? null : block;
  }

  @Override
  public PooledBlock next() {
    PooledBlock block = hasNext() ? following : null;
    if (block == null) {
      throw new NoSuchElementException("there is no other block");
    }
    following = null;
    return block;
  }
}
