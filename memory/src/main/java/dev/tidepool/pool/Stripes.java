package dev.tidepool.pool;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Idle blocks where the thread that gave them back will look first: a few slots for each size
 * class, in stripes that threads choose by their id.
 *
 * <p>Shared queues collapse as soon as two threads use them; a thread-local cache is lost with its
 * thread, and there are millions of virtual ones. A stripe is neither: any thread may use any
 * stripe, and a slot changes hands by compare-and-set.
 *
 * <p>A slot is empty (null), or holds a block, or a credit: the bytes that its last block charged
 * to the budget, kept for that block's return. Block to credit and back is all that a steady state
 * does.
 */
final class Stripes {
  private static final Credit CREDIT = new Credit();

  /** Slots of a class that lie side by side: one cache line, with 4-byte references. */
  private static final int STRIDE = 4;

  /** From this size on, a stripe keeps fewer blocks. */
  private static final long LARGE_FROM = 1L << 20;

  private static final int LARGE_SLOTS = 2;

  private final AtomicReferenceArray<@Nullable Object>[] stripes;

  @SuppressWarnings({"unchecked", "rawtypes"}) // an array of a generic type
  Stripes(int processors) {
    int count = Integer.highestOneBit(Math.clamp(processors, 1, 32) * 4 - 1);
    stripes = new AtomicReferenceArray[count];
    for (int i = 0; i < count; i++) {
      stripes[i] = new AtomicReferenceArray<>(SizeClasses.COUNT * STRIDE);
    }
  }

  /** What stands in a slot whose block is leased. */
  private static final class Credit {}

  /** Threads get consecutive ids, so neighbours get different stripes. */
  private AtomicReferenceArray<@Nullable Object> own() {
    return stripes[(int) Thread.currentThread().threadId() & (stripes.length - 1)];
  }

  private static int first(int sizeClass) {
    return sizeClass * STRIDE;
  }

  private static int end(int sizeClass) {
    return first(sizeClass) + (SizeClasses.bytesOf(sizeClass) < LARGE_FROM ? STRIDE : LARGE_SLOTS);
  }

  /** Takes a block from the caller's stripe and leaves its credit there. */
  @Nullable PooledBlock take(int sizeClass) {
    AtomicReferenceArray<@Nullable Object> slots = own();
    int first = first(sizeClass);
    for (int i = first; i < first + STRIDE; i++) {
      if (slots.getAcquire(i) instanceof PooledBlock block
          && slots.compareAndSet(i, block, CREDIT)) {
        return block;
      }
    }
    return null;
  }

  /** Puts a block where the caller's stripe has a credit; false if it has none. */
  boolean putOnCredit(PooledBlock block) {
    AtomicReferenceArray<@Nullable Object> slots = own();
    int first = first(block.sizeClass);
    for (int i = first; i < first + STRIDE; i++) {
      if (slots.getAcquire(i) instanceof Credit && slots.compareAndSet(i, CREDIT, block)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Puts a block that is charged into an empty slot of the caller's stripe; false if all are taken.
   */
  boolean put(PooledBlock block) {
    AtomicReferenceArray<@Nullable Object> slots = own();
    for (int i = first(block.sizeClass); i < end(block.sizeClass); i++) {
      if (slots.getAcquire(i) == null && slots.compareAndSet(i, null, block)) {
        return true;
      }
    }
    return false;
  }

  /** Takes a block from any stripe; its charge goes to the caller. */
  @Nullable PooledBlock steal(int sizeClass) {
    for (AtomicReferenceArray<@Nullable Object> slots : stripes) {
      for (int i = first(sizeClass); i < end(sizeClass); i++) {
        if (slots.getAcquire(i) instanceof PooledBlock block
            && slots.compareAndSet(i, block, null)) {
          return block;
        }
      }
    }
    return null;
  }

  /** Takes a given block if it lies in a stripe; its charge goes to the caller. */
  boolean take(PooledBlock wanted) {
    for (AtomicReferenceArray<@Nullable Object> slots : stripes) {
      for (int i = first(wanted.sizeClass); i < end(wanted.sizeClass); i++) {
        if (slots.getAcquire(i) == wanted && slots.compareAndSet(i, wanted, null)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Takes the credits of a class back from all stripes; how many there were. */
  int reclaimCredits(int sizeClass) {
    int reclaimed = 0;
    for (AtomicReferenceArray<@Nullable Object> slots : stripes) {
      for (int i = first(sizeClass); i < end(sizeClass); i++) {
        if (slots.getAcquire(i) instanceof Credit && slots.compareAndSet(i, CREDIT, null)) {
          reclaimed++;
        }
      }
    }
    return reclaimed;
  }

  /** Shows the blocks of a class; they stay where they are. */
  void forEach(int sizeClass, Consumer<PooledBlock> action) {
    for (AtomicReferenceArray<@Nullable Object> slots : stripes) {
      for (int i = first(sizeClass); i < end(sizeClass); i++) {
        if (slots.getAcquire(i) instanceof PooledBlock block) {
          action.accept(block);
        }
      }
    }
  }
}
