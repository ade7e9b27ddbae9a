package dev.tidepool.pool.block;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * The slabs of a pool, the newest first.
 *
 * <p>A list that is linked through the slabs themselves: one comes or goes in constant time, and
 * who looks through them makes no object, for that happens where blocks are given back too. Who
 * changes the list holds its monitor for some stores. Who reads it takes none: a slab that was
 * taken out still leads on to the one behind it, so nobody who stands there misses any that stays.
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

  /** Takes out a slab that was added, and was not taken out before. */
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

  /** The newest; {@link Slab#next} leads to the others. */
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
