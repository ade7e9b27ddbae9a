package dev.tidepool.runtime.metering;

import dev.tidepool.MemoryOptions;
import dev.tidepool.runtime.context.ManagerContext;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The leak groups that new buffers join: one is open for each stripe of threads, so that threads do
 * not meet.
 */
public class LeakDetector {
  /** The approximate number of members of one leak group. */
  private static final int CAPACITY = 64;

  private final ManagerContext context;
  private final ReferenceQueue<LeakGroup.Token> unreachable = new ReferenceQueue<>();
  private final AllocationCounters counters;

  /**
   * Creates a detector for a manager's buffers.
   *
   * @param counters hold the open leak group of each stripe, which saves a look-up
   */
  LeakDetector(ManagerContext context, AllocationCounters counters) {
    this.context = context;
    this.counters = counters;
  }

  /** Creates the detector that the options of a manager ask for. */
  public static LeakDetector of(ManagerContext context, AllocationCounters counters) {
    MemoryOptions options = context.options();
    // Here, so that the other class is not there where no manager needs it.
    return switch (options.diagnostics()) {
      case OFF, COUNTERS -> new LeakDetector(context, counters);
      case SITES ->
          SamplingLeakDetector.of(context, counters, new AllocationSampler(options.siteSampling()));
      case PARANOID -> SamplingLeakDetector.of(context, counters, new AllocationSampler(1));
    };
  }

  /**
   * Returns the token for a buffer of a number of bytes that is in the sample, whose stack is
   * recorded and which is watched alone; null if it is not in the sample.
   */
  public LeakGroup.@Nullable Token sampled(long bytes) {
    return null;
  }

  /** Returns the token for the handles of a new buffer, whose leak group it has joined. */
  public final LeakGroup.Token join() {
    return join(counters.of(Thread.currentThread()));
  }

  /** Like {@link #join()}, for a caller that has its thread's tally at hand. */
  public final LeakGroup.Token join(AllocationCounters.Tally tally) {
    LeakGroup.Token current = tally.open();
    return current != null && current.leakGroup().join(CAPACITY) ? current : replace(tally);
  }

  /** Returns the token for a buffer that is watched alone, though its stack is not taken. */
  public final LeakGroup.Token alone() {
    return alone("");
  }

  /** Returns the token for a buffer that is watched alone. */
  final LeakGroup.Token alone(String site) {
    return new LeakGroup.Token(context, unreachable, site);
  }

  private LeakGroup.Token replace(AllocationCounters.Tally tally) {
    // By a constructor here, and not by `alone`: the compiler inlines short methods into every
    // allocation, however seldom they are called.
    LeakGroup.Token fresh = new LeakGroup.Token(context, unreachable, "");
    LeakGroup leakGroup = fresh.leakGroup();
    leakGroup.join(CAPACITY);
    tally.open(fresh);
    return fresh;
  }

  /** The maintenance thread calls this at intervals. */
  public void tick() {}

  /** Closes the open leak groups, so that their tokens depend on handles alone. */
  public void seal() {
    counters.forEachTally(tally -> tally.open(null));
  }

  /**
   * Returns the leak groups whose handles are all unreachable, each once.
   *
   * @param waitNanos how long to wait at most for the first of them; an interrupt ends the wait and
   *     stays set
   */
  public Set<LeakGroup> drain(long waitNanos) {
    Set<LeakGroup> gone = Collections.newSetFromMap(new IdentityHashMap<>());
    Reference<? extends LeakGroup.Token> reference = unreachable.poll();
    if (reference == null && waitNanos > 0) {
      reference = await(waitNanos);
    }
    while (reference != null) {
      gone.add((LeakGroup) reference);
      reference = unreachable.poll();
    }
    return gone;
  }

  private @Nullable Reference<? extends LeakGroup.Token> await(long nanos) {
    try {
      return unreachable.remove(Math.ceilDiv(nanos, 1_000_000L));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }
}
