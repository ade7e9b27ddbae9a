package dev.tidepool.runtime.metering;

import dev.tidepool.MemoryOptions;
import dev.tidepool.runtime.order.ManagerContext;
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
public class Cohorts {
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
  public static Cohorts of(ManagerContext memory, Counters counters) {
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
  public Cohort.@Nullable Token sampled(long bytes) {
    return null;
  }

  /** The token for the handles of a new buffer, whose cohort it has joined. */
  public final Cohort.Token join() {
    return join(counters.of(Thread.currentThread()));
  }

  /** The same for who knows what his thread's stripe has. */
  public final Cohort.Token join(Counters.Tally tally) {
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
  public void tick() {}

  /** Closes the open cohorts, so that their tokens depend on handles alone. */
  public void seal() {
    counters.forEachTally(tally -> tally.open(null));
  }

  /** The cohorts whose handles are all gone, each answered once. */
  public Set<Cohort> drain() {
    Set<Cohort> gone = Collections.newSetFromMap(new IdentityHashMap<>());
    Reference<? extends Cohort.Token> reference = unreachable.poll();
    while (reference != null) {
      gone.add((Cohort) reference);
      reference = unreachable.poll();
    }
    return gone;
  }
}
