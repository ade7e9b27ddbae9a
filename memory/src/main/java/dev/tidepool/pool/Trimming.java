package dev.tidepool.pool;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;

/**
 * Gives idle memory back: all of it, or what has not been used for a while.
 *
 * <p>A monitor guards the looks that maintenance takes; under it blocks are freed, but nobody who
 * allocates or gives back waits for it.
 */
final class Trimming {
  private final IdleBlocks idle;
  private final Ledger ledger;
  private final long keptBytes;
  private final Consumer<Reclaimable> free;

  Trimming(IdleBlocks idle, Ledger ledger, long keptBytes, Consumer<Reclaimable> free) {
    this.idle = idle;
    this.ledger = ledger;
    this.keptBytes = keptBytes;
    this.free = free;
  }

  /**
   * Frees what is idle now; what comes back meanwhile stays, or a busy pool would never be done.
   */
  long all() {
    long freed = 0;
    for (Reclaimable candidate : allIdle()) {
      if (candidate.claim(idle)) {
        freed += candidate.bytes();
        free.accept(candidate);
      }
    }
    return counted(freed);
  }

  /** Frees what has been idle since a time, the least recently used first. */
  synchronized long idleSince(long nanoTime) {
    long now = System.nanoTime();
    long idleBytes = 0;
    List<Aged> old = new ArrayList<>();
    for (Reclaimable candidate : allIdle()) {
      idleBytes += candidate.bytes();
      if (candidate.looksUnusedSince(nanoTime, now)) {
        old.add(new Aged(candidate, candidate.idleTick()));
      }
    }
    old.sort(Comparator.comparingLong(Aged::tick));
    return counted(freeOldest(old, idleBytes));
  }

  /** With a copy of its tick: other threads may go on using it. */
  private record Aged(Reclaimable candidate, long tick) {}

  private long freeOldest(List<Aged> old, long idleBytes) {
    long left = idleBytes;
    long freed = 0;
    for (Aged next : old) {
      Reclaimable candidate = next.candidate();
      if (left <= keptBytes) {
        break;
      }
      if (!candidate.claim(idle)) {
        continue;
      }
      if (candidate.wasUsedSinceLook()) {
        candidate.unclaim(idle);
      } else {
        left -= candidate.bytes();
        freed += candidate.bytes();
        free.accept(candidate);
      }
    }
    return freed;
  }

  private List<Reclaimable> allIdle() {
    List<Reclaimable> found = new ArrayList<>();
    ledger.singles().stream().filter(Reclaimable::isAllIdle).forEach(found::add);
    ledger.slabs().stream().filter(Reclaimable::isAllIdle).forEach(found::add);
    return found;
  }

  private long counted(long bytes) {
    if (bytes > 0) {
      ledger.trimmed(bytes);
    }
    return bytes;
  }
}
