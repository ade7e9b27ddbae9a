package dev.tidepool.runtime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The cohorts that new buffers join: one is open for each stripe of threads, so that threads do not
 * meet.
 */
final class Cohorts {
  private static final int STRIPES = 8;

  private final int capacity;
  private final ReferenceQueue<Cohort.Token> unreachable = new ReferenceQueue<>();
  private final AtomicReferenceArray<Cohort.@Nullable Token> open =
      new AtomicReferenceArray<>(STRIPES);

  /**
   * No cohort yet.
   *
   * @param capacity members of one cohort, about; 1 notices each buffer by itself
   */
  Cohorts(int capacity) {
    this.capacity = capacity;
  }

  /** The token for the handles of a new buffer, whose cohort it has joined. */
  Cohort.Token join() {
    if (capacity == 1) {
      return new Cohort.Token(unreachable);
    }
    int stripe = (int) (Thread.currentThread().threadId() & (STRIPES - 1));
    Cohort.Token current = open.getAcquire(stripe);
    return current != null && current.cohort().join(capacity) ? current : replace(stripe);
  }

  private Cohort.Token replace(int stripe) {
    Cohort.Token fresh = new Cohort.Token(unreachable);
    fresh.cohort().join(capacity);
    open.setRelease(stripe, fresh);
    return fresh;
  }

  /** Closes the open cohorts, so that their tokens depend on handles alone. */
  void seal() {
    for (int i = 0; i < STRIPES; i++) {
      Cohort.Token current = open.get(i);
      if (current != null && !current.cohort().isEmpty()) {
        open.compareAndSet(i, current, null);
      }
    }
  }

  /** The cohorts whose handles are all gone, each answered once. */
  Set<Cohort> drain() {
    Set<Cohort> gone = Collections.newSetFromMap(new IdentityHashMap<>());
    Reference<? extends Cohort.Token> reference = unreachable.poll();
    while (reference != null) {
      gone.add((Cohort) reference);
      reference = unreachable.poll();
    }
    return gone;
  }
}
