package dev.tidepool.pool.block;

import dev.tidepool.pooling.EvictionPolicy;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of one class that belong to no stripe: bitmaps, in sections of 64, each with a word
 * that says which bitmaps may have an idle block.
 *
 * <p>Of small blocks the one returned last is taken first, because it is still in the processor's
 * cache; the list remembers the places of a few of them. Else the first place goes first, so that
 * those behind come to lie idle together, and longer.
 *
 * <p>Taking and putting down are atomic operations on two words at most. Only the coming and going
 * of blocks as such, behind a driver's call, takes the shared list's monitor.
 */
final class SharedFreeList {
  /** Blocks that were put down last and are remembered; a power of two. */
  private static final int RECENT = 16;

  private volatile Section[] sections = new Section[0];

  /** The section where a block was put down last; a hint. */
  private int likely;

  // Hints too, written without care for others: the places where blocks were put down last, each
  // one more than it is, and 0 once it was looked at; and where in here the last one is. Null
  // unless the last block goes first.
  private final int @Nullable [] recent;
  private int latest;

  // The first bitmap with a free place, which leads on to the others; guarded by this. Linked
  // through the bitmaps, so that freeing a block makes no object.
  private @Nullable SlotBitmap firstNotFull;

  /** 64 bitmaps. */
  private static final class Section {
    private static final VarHandle HINTS;

    static {
      try {
        HINTS = MethodHandles.lookup().findVarHandle(Section.class, "hints", long.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    /** As many as a word has bits. */
    static final int BITMAPS = Long.SIZE;

    final int number;
    final @Nullable SlotBitmap[] bitmaps = new SlotBitmap[BITMAPS];
    int used;

    /** A bit for each bitmap that may have an idle block: set for all that have. */
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

    /** Takes what is idle in a place of the shared list, if anything is. */
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
        // A block that was put down before the hint was lowered must not be forgotten.
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
   * @param lastGoesFirst whether the block that was put down last is taken first
   */
  SharedFreeList(boolean lastGoesFirst) {
    this.recent = lastGoesFirst ? new int[RECENT] : null;
  }

  /** Takes an idle block: the one that was put down last, if that is wanted and known. */
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
    // The place may be of a section that this thread does not see yet.
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

  /** Takes an idle block of exactly so many bytes, on the shared list of many sizes. */
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

  /** Puts a block down that has its place here. */
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

  /**
   * Gives a block, which its caller owns, a place. May make objects; if that throws, the block has
   * no place.
   */
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

  /** Ends the place of a block, which its caller owns, on a bitmap. */
  synchronized void vacate(SlotBitmap bitmap, PooledBlock block) {
    if (bitmap.vacate(block)) {
      bitmap.nextNotFull = firstNotFull;
      firstNotFull = bitmap;
    }
  }

  /** Returns the block to evict first, of a sample of those that seem idle and the best so far. */
  @Nullable PooledBlock firstToEvict(
      int sample, EvictionPolicy policy, @Nullable PooledBlock best) {
    PooledBlock first = best;
    int more = sample;
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
