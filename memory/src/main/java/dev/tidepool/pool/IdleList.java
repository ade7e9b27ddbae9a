package dev.tidepool.pool;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The idle blocks of one size class that no stripe keeps, most recently used first.
 *
 * <p>A linked list through the blocks themselves, so that nothing is allocated to give memory back.
 * Its lock is held for a few loads and stores; nothing waits or frees under it.
 */
final class IdleList {
  /** Read without the lock, too, to pass empty lists by. */
  private volatile @Nullable PooledBlock newest;

  private @Nullable PooledBlock oldest;

  synchronized void add(PooledBlock block) {
    PooledBlock before = newest;
    block.older = before;
    block.newer = null;
    if (before == null) {
      oldest = block;
    } else {
      before.newer = block;
    }
    newest = block;
    block.listed = true;
  }

  /** Takes the most recently used block. */
  @Nullable PooledBlock takeNewest() {
    if (newest == null) {
      return null;
    }
    synchronized (this) {
      PooledBlock block = newest;
      if (block != null) {
        unlink(block);
      }
      return block;
    }
  }

  /** Takes the most recently used block of exactly that size, for lists of many sizes. */
  @Nullable PooledBlock takeNewestOf(long bytes) {
    if (newest == null) {
      return null;
    }
    synchronized (this) {
      for (PooledBlock block = newest; block != null; block = block.older) {
        if (block.bytes == bytes) {
          unlink(block);
          return block;
        }
      }
      return null;
    }
  }

  /** The least recently used block, left where it is. */
  @Nullable PooledBlock peekOldest() {
    if (newest == null) {
      return null;
    }
    synchronized (this) {
      return oldest;
    }
  }

  /** Takes a block of this list's class if it is here. */
  synchronized boolean take(PooledBlock block) {
    if (!block.listed) {
      return false;
    }
    unlink(block);
    return true;
  }

  /** Shows all blocks, oldest first; they stay where they are. */
  synchronized void forEach(Consumer<PooledBlock> action) {
    for (PooledBlock block = oldest; block != null; block = block.newer) {
      action.accept(block);
    }
  }

  private void unlink(PooledBlock block) {
    PooledBlock newer = block.newer;
    PooledBlock older = block.older;
    if (newer == null) {
      newest = older;
    } else {
      newer.older = older;
    }
    if (older == null) {
      oldest = newer;
    } else {
      older.newer = newer;
    }
    block.newer = null;
    block.older = null;
    block.listed = false;
  }
}
