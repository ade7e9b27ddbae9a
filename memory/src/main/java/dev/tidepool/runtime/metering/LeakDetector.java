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
public class LeakDetector {
  /** Members of one cohort, about. */
  private static final int CAPACITY = 64;

  private final ManagerContext memory;
  private final ReferenceQueue<LeakGroup.Token> unreachable = new ReferenceQueue<>();
  private final AllocationCounters counters;

  /**
   * None yet, of a manager's buffers.
   *
   * @param counters with a place for the open cohort of each stripe, which costs no second look
   */
  LeakDetector(ManagerContext memory, AllocationCounters counters) {
    this.memory = memory;
    this.counters = counters;
  }

  /** Cohorts as the options of a manager say. */
  public static LeakDetector of(ManagerContext memory, AllocationCounters counters) {
    MemoryOptions options = memory.options();
    // Here, so that the other class is not there where no manager needs it.
    return switch (options.diagnostics()) {
      case OFF, COUNTERS -> new LeakDetector(memory, counters);
      case SITES ->
          SamplingLeakDetector.of(memory, counters, new AllocationSampler(options.siteSampling()));
      case PARANOID -> SamplingLeakDetector.of(memory, counters, new AllocationSampler(1));
    };
  }

  /**
   * The token for a buffer of so many bytes that is watched by itself, because its stack is taken,
   * here; null if it is not.
   */
  public LeakGroup.@Nullable Token sampled(long bytes) {
    return null;
  }

  /** The token for the handles of a new buffer, whose cohort it has joined. */
  public final LeakGroup.Token join() {
    return join(counters.of(Thread.currentThread()));
  }

  /** The same for who knows what his thread's stripe has. */
  public final LeakGroup.Token join(AllocationCounters.Tally tally) {
    LeakGroup.Token current = tally.open();
    return current != null && current.cohort().join(CAPACITY) ? current : replace(tally);
  }

  /** The token for a buffer that is watched by itself. */
  final LeakGroup.Token alone(String site) {
    return new LeakGroup.Token(memory, unreachable, site);
  }

  private LeakGroup.Token replace(AllocationCounters.Tally tally) {
    // By a constructor here, and not by `alone`: short methods are taken into the way of every
    // allocation, however seldom they are called.
    LeakGroup.Token fresh = new LeakGroup.Token(memory, unreachable, "");
    LeakGroup cohort = fresh.cohort();
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
  public Set<LeakGroup> drain() {
    Set<LeakGroup> gone = Collections.newSetFromMap(new IdentityHashMap<>());
    Reference<? extends LeakGroup.Token> reference = unreachable.poll();
    while (reference != null) {
      gone.add((LeakGroup) reference);
      reference = unreachable.poll();
    }
    return gone;
  }
}
