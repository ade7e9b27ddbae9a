package dev.tidepool.runtime;

import dev.tidepool.MemoryOptions;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The cohorts that new buffers join: one is open for each stripe of threads, so that threads do not
 * meet.
 */
class Cohorts {
  /** Members of one cohort, about. */
  private static final int CAPACITY = 64;

  private final ManagerContext memory;
  private final ReferenceQueue<Cohort.Token> unreachable = new ReferenceQueue<>();
  private final Counters counters;

  /**
   * None yet, of a manager's buffers.
   *
   * @param counters with a place for the open cohort of each stripe, which costs no second look
   */
  Cohorts(ManagerContext memory, Counters counters) {
    this.memory = memory;
    this.counters = counters;
  }

  /** Cohorts as the options of a manager say. */
  static Cohorts of(ManagerContext memory, Counters counters) {
    MemoryOptions options = memory.options();
    // Here, so that the other class is not there where no manager needs it.
    return switch (options.diagnostics()) {
      case OFF, COUNTERS -> new Cohorts(memory, counters);
      case SITES -> SitedCohorts.of(memory, counters, new SiteSampling(options.siteSampling()));
      case PARANOID -> SitedCohorts.of(memory, counters, new SiteSampling(1));
    };
  }

  /**
   * The token for a buffer of so many bytes that is watched by itself, because its stack is taken,
   * here; null if it is not.
   */
  Cohort.@Nullable Token sampled(long bytes) {
    return null;
  }

  /** The token for the handles of a new buffer, whose cohort it has joined. */
  final Cohort.Token join() {
    return join(counters.of(Thread.currentThread()));
  }

  /** The same for who knows what his thread's stripe has. */
  final Cohort.Token join(Counters.Tally tally) {
    Cohort.Token current = tally.open();
    return current != null && current.cohort().join(CAPACITY) ? current : replace(tally);
  }

  /** The token for a buffer that is watched by itself. */
  final Cohort.Token alone(String site) {
    return new Cohort.Token(memory, unreachable, site);
  }

  private Cohort.Token replace(Counters.Tally tally) {
    // By a constructor here, and not by `alone`: short methods are taken into the way of every
    // allocation, however seldom they are called.
    Cohort.Token fresh = new Cohort.Token(memory, unreachable, "");
    Cohort cohort = fresh.cohort();
    cohort.join(CAPACITY);
    tally.open(fresh);
    return fresh;
  }

  /** Some moments have passed; called by the maintenance thread. */
  void tick() {}

  /** Closes the open cohorts, so that their tokens depend on handles alone. */
  void seal() {
    counters.forEachTally(tally -> tally.open(null));
  }

  /**
   * The cohorts whose handles are all gone, each answered once.
   *
   * @param waitNanos how long to wait at most for the first of them; an interrupt ends the wait and
   *     stays set
   */
  Set<Cohort> drain(long waitNanos) {
    Set<Cohort> gone = Collections.newSetFromMap(new IdentityHashMap<>());
    Reference<? extends Cohort.Token> reference = unreachable.poll();
    if (reference == null && waitNanos > 0) {
      reference = await(waitNanos);
    }
    while (reference != null) {
      gone.add((Cohort) reference);
      reference = unreachable.poll();
    }
    return gone;
  }

  private @Nullable Reference<? extends Cohort.Token> await(long nanos) {
    try {
      return unreachable.remove(Math.ceilDiv(nanos, 1_000_000L));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }
}
