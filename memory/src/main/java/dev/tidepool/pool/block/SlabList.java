package dev.tidepool.pool.block;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * The slabs of a pool, the newest first.
 *
 * <p>The list is linked through the slabs themselves. Adding and removing a slab take constant
 * time. Reading the list by {@link #first} allocates nothing, because returning a block may read
 * it. A change holds the monitor for a few stores. A read takes no lock. A removed slab still
 * refers to the next one, so a reader that is at a removed slab misses none of the remaining ones.
 */
public final class SlabList implements Iterable<Slab> {
  private volatile @Nullable Slab first;

  synchronized void add(Slab slab) {
    Slab second = first;
    slab.next = second;
    if (second != null) {
      second.previous = slab;
    }
    first = slab;
  }

  /** Removes a slab that was added and not removed yet. */
  synchronized void remove(Slab slab) {
    Slab before = slab.previous;
    Slab behind = slab.next;
    if (before == null) {
      first = behind;
    } else {
      before.next = behind;
    }
    if (behind != null) {
      behind.previous = before;
    }
  }

  /** Returns the newest slab; {@link Slab#next} leads to the others. */
  @Nullable Slab first() {
    return first;
  }

  @Override
  public Iterator<Slab> iterator() {
    return new Iterator<>() {
      private @Nullable Slab following = first;

      @Override
      public boolean hasNext() {
        return following != null;
      }

      @Override
      public Slab next() {
        Slab slab = following;
        if (slab == null) {
          throw new NoSuchElementException("there is no other slab");
        }
        following = slab.next;
        return slab;
      }
    };
  }
}
