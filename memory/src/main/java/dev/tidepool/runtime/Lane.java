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

  void enter(Work work, Use use) {
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

  void leave(Work work) {
    if (lastWrite == work) {
      lastWrite = null;
    } else {
      reads.remove(work);
    }
  }

  boolean isIdle() {
    return lastWrite == null && reads.isEmpty();
  }

  /** The unfinished work that everything else comes before. */
  List<Work> tail() {
    List<Work> tail = new ArrayList<>(reads);
    if (lastWrite != null) {
      tail.add(lastWrite);
    }
    return tail;
  }
}
