package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of one class that belong to no stripe. They have places in bitmaps, in sections of 64
 * bitmaps. A word of each section says which bitmaps may have an idle block.
 *
 * <p>Of small blocks, the one returned last is taken first, because it is still in the processor's
 * cache. The list remembers the places of a few of them. Otherwise the first place is taken first,
 * so that later blocks tend to be idle together, and longer.
 *
 * <p>Taking and returning are atomic operations on at most two words. Only {@link #settle} and
 * {@link #vacate}, which assign and end places, take the monitor.
 */
final class SharedFreeList {
  /** The number of recently returned blocks that are remembered; a power of two. */
  private static final int RECENT = 16;

  /** The number of idle blocks that are compared for an eviction. */
  private static final int SAMPLE = 64;

  private volatile Section[] sections = new Section[0];

  /** The section where a block was returned last; a hint. */
  private int likely;

  // Hints too, written without synchronization: a ring of the places where blocks were returned
  // last, each plus 1, or 0 once it was used; and the index of the last entry. Null unless the last
  // block is taken first.
  private final int @Nullable [] recent;
  private int latest;

  // The first bitmap with a free place; the others are linked to it. Guarded by this. Linked
  // through the bitmaps, so that freeing a block allocates nothing.
  private @Nullable SlotBitmap firstNotFull;

  /** 64 bitmaps. */
  private static final class Section {
    private static final VarHandle HINTS =
        FieldHandle.of(MethodHandles.lookup(), "hints", long.class);

    /** The number of bits of a word. */
    static final int BITMAPS = Long.SIZE;

    final int number;
    final @Nullable SlotBitmap[] bitmaps = new SlotBitmap[BITMAPS];
    int used;

    /** A bit for each bitmap that may have an idle block. Set for every bitmap that has one. */
    private volatile long hints;

    Section(int number) {
      this.number = number;
    }

    void hint(int index) {
      long bit = 1L << index;
      long now = hints;
      while ((now & bit) == 0 && !HINTS.compareAndSet(this, now, now | bit)) {
        now = hints;
      }
    }

    @Nullable PooledBlock take() {
      for (long left = hints; left != 0; left &= left - 1) {
        int index = Long.numberOfTrailingZeros(left);
        PooledBlock block = takeFrom(index);
        if (block != null) {
          return block;
        }
      }
      return null;
    }

    /** Takes the block at a place if it is idle. */
    @Nullable PooledBlock takeAt(int place) {
      SlotBitmap bitmap = bitmaps[SlotBitmap.indexOf(place) % BITMAPS];
      long bit = SlotBitmap.bitOf(place);
      return bitmap != null && bitmap.take(bit) ? bitmap.at(bit) : null;
    }

    private @Nullable PooledBlock takeFrom(int index) {
      SlotBitmap bitmap = bitmaps[index];
      if (bitmap == null) {
        return null;
      }
      PooledBlock block = bitmap.take();
      if (block == null) {
        lower(index);
        // A block that was returned before the hint was cleared must not be forgotten.
        if (!bitmap.isEmpty()) {
          hint(index);
          block = bitmap.take();
        }
      }
      return block;
    }

    private void lower(int index) {
      long now = hints;
      while (!HINTS.compareAndSet(this, now, now & ~(1L << index))) {
        now = hints;
      }
    }
  }

  /**
   * Creates a shared list without bitmaps.
   *
   * @param lastGoesFirst whether the block that was returned last is taken first
   */
  SharedFreeList(boolean lastGoesFirst) {
    this.recent = lastGoesFirst ? new int[RECENT] : null;
  }

  /** Takes an idle block: the one returned last, if the list tracks that and knows its place. */
  @Nullable PooledBlock take() {
    PooledBlock block = recent == null ? null : takeLatest(recent);
    return block == null ? takeAny() : block;
  }

  private @Nullable PooledBlock takeLatest(int[] recent) {
    int last = latest & (RECENT - 1);
    int place = recent[last] - 1;
    if (place < 0) {
      return null;
    }
    recent[last] = 0;
    latest = last - 1;
    Section[] all = sections;
    int section = SlotBitmap.indexOf(place) / Section.BITMAPS;
    // The place may be in a section that this thread does not see yet.
    return section < all.length ? all[section].takeAt(place) : null;
  }

  private @Nullable PooledBlock takeAny() {
    Section[] all = sections;
    int first = likely;
    for (int i = 0; i < all.length; i++) {
      Section section = all[(first + i) % all.length];
      PooledBlock block = section.take();
      if (block != null) {
        return block;
      }
    }
    return null;
  }

  /** Takes an idle block of exactly this size. For the list of blocks beyond all classes. */
  @Nullable PooledBlock takeOf(long bytes) {
    for (Section section : sections) {
      for (SlotBitmap bitmap : section.bitmaps) {
        PooledBlock block = bitmap == null ? null : bitmap.takeOf(bytes);
        if (block != null) {
          return block;
        }
      }
    }
    return null;
  }

  /** Returns a block to its place on this list. */
  void put(PooledBlock block) {
    SlotBitmap bitmap = block.bitmap();
    if (bitmap.put(block.bit()) == 0) {
      Section section = sections[bitmap.index() / Section.BITMAPS];
      section.hint(bitmap.index() % Section.BITMAPS);
      likely = section.number;
    }
    if (recent != null) {
      int next = latest + 1;
      recent[next & (RECENT - 1)] = block.place() + 1;
      latest = next;
    }
  }

  /** Gives a place to a block that the caller owns. May allocate, and then throw without effect. */
  synchronized void settle(PooledBlock block) {
    SlotBitmap bitmap = firstNotFull == null ? grow() : firstNotFull;
    bitmap.settle(block);
    firstNotFull = bitmap.isFull() ? bitmap.nextNotFull : bitmap;
  }

  private SlotBitmap grow() {
    Section[] all = sections;
    Section last = all.length == 0 ? null : all[all.length - 1];
    if (last == null || last.used == Section.BITMAPS) {
      last = new Section(all.length);
      Section[] more = Arrays.copyOf(all, all.length + 1);
      more[all.length] = last;
      sections = more;
    }
    SlotBitmap bitmap = new SlotBitmap(last.number * Section.BITMAPS + last.used);
    last.bitmaps[last.used++] = bitmap;
    return bitmap;
  }

  /** Ends the place of a block that the caller owns. */
  synchronized void vacate(SlotBitmap bitmap, PooledBlock block) {
    if (bitmap.vacate(block)) {
      bitmap.nextNotFull = firstNotFull;
      firstNotFull = bitmap;
    }
  }

  /** Returns the first block to evict, of a sample of the idle blocks and the best so far. */
  @Nullable PooledBlock firstToEvict(EvictionPolicy policy, @Nullable PooledBlock best) {
    PooledBlock first = best;
    int more = SAMPLE;
    for (Section section : sections) {
      for (int i = 0; i < section.bitmaps.length && more > 0; i++) {
        SlotBitmap bitmap = section.bitmaps[i];
        if (bitmap != null) {
          int idle = bitmap.idleBlocks();
          first = bitmap.firstToEvict(more, policy, first);
          more -= idle;
        }
      }
    }
    return first;
  }
}
