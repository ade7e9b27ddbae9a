package dev.tidepool.runtime;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The order of work on one storage: the last write that was asked for, and the reads behind it.
 * Guarded by the storage's monitor.
 */
final class Lane {
  private @Nullable Work lastWrite;
  // Whether it changes bytes; where even reads are alone it may be one.
  private boolean lastWrites;
  private final List<Work> reads = new ArrayList<>(2);

  // Of the buffer that had the block before; null if that has ended.
  private @Nullable LastUse lastUse;
  // Unfinished work that is no kernel's, and whether there ever was any.
  private int besidesKernels;
  private boolean kernelsAlone = true;

  /** All work comes behind what the buffer before does with the block. */
  void begin(LastUse before) {
    lastUse = before;
  }

  void lastUseEnded() {
    lastUse = null;
  }

  void enter(Work work, Use use) {
    if (use.purpose() != Use.Purpose.KERNEL) {
      besidesKernels++;
      kernelsAlone = false;
    }
    if (lastUse != null) {
      lastUse.precede(work);
    }
    if (lastWrite != null) {
      work.follow(lastWrite, !use.forgives(), lastWrites);
    }
    if (!use.alone()) {
      reads.add(work);
      return;
    }
    for (Work read : reads) {
      work.follow(read, false, false);
    }
    reads.clear();
    lastWrite = work;
    lastWrites = use.writes();
  }

  void leave(Work work, Use use) {
    if (use.purpose() != Use.Purpose.KERNEL) {
      besidesKernels--;
    }
    if (lastWrite == work) {
      lastWrite = null;
    } else {
      reads.remove(work);
    }
  }

  boolean isIdle() {
    return lastUse == null && isOwnIdle();
  }

  private boolean isOwnIdle() {
    return lastWrite == null && reads.isEmpty();
  }

  /** Whether nothing but kernels is under way. */
  boolean hasKernelsOnly() {
    return besidesKernels == 0 && !isIdle();
  }

  /** Whether nothing but kernels ever was. */
  boolean isForKernelsAlone() {
    return kernelsAlone;
  }

  /** The unfinished work that everything else comes before. */
  List<Work> tail() {
    if (lastUse != null && isOwnIdle()) {
      return lastUse.works();
    }
    List<Work> tail = new ArrayList<>(reads);
    if (lastWrite != null) {
      tail.add(lastWrite);
    }
    return tail;
  }
}
