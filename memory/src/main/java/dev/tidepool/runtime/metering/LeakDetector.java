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
 * Assigns new buffers to leak groups. Each stripe of threads has its own open group, so that
 * threads do not contend. A buffer in the sample of those whose stacks are recorded has its own
 * leak group, which holds the stack. So its leak is found alone.
 */
public final class LeakDetector {
  private final ManagerContext context;
  private final ReferenceQueue<LeakGroup.Token> unreachable = new ReferenceQueue<>();
  private final AllocationCounters counters;
  private final AllocationSites sites = new AllocationSites();
  // Chooses the buffers whose stacks are recorded; null if none are.
  private final @Nullable AllocationSampler sampling;

  /**
   * Creates a detector for a manager's buffers.
   *
   * @param counters hold the open leak group of each stripe, which saves a lookup
   */
  public LeakDetector(ManagerContext context, AllocationCounters counters) {
    this.context = context;
    this.counters = counters;
    MemoryOptions options = context.options();
    this.sampling =
        switch (options.diagnostics()) {
          case OFF, COUNTERS -> null;
          case SITES -> new AllocationSampler(options.siteSampling());
          case PARANOID -> new AllocationSampler(1);
        };
  }

  /** Returns the token for a buffer that is in the sample, or null if it is not. */
  public LeakGroup.@Nullable Token sampled(long bytes) {
    return sampling != null && sampling.takes(bytes) ? alone(sites.here()) : null;
  }

  /** Returns the token for the handles of a new buffer, which joins the open leak group. */
  public LeakGroup.Token join() {
    return join(counters.of(Thread.currentThread()));
  }

  /** Like {@link #join()}, for a caller that has looked up its thread's tally already. */
  public LeakGroup.Token join(AllocationCounters.Tally tally) {
    LeakGroup.Token current = tally.open();
    return current != null && current.leakGroup().join() ? current : replace(tally);
  }

  /** Returns the token for a buffer with its own leak group, without recording its stack. */
  public LeakGroup.Token alone() {
    return alone("");
  }

  private LeakGroup.Token alone(String site) {
    return new LeakGroup.Token(context, unreachable, site);
  }

  private LeakGroup.Token replace(AllocationCounters.Tally tally) {
    // Calls the constructor, not alone(): the JIT compiler inlines short methods into every
    // allocation, even if they are seldom called.
    LeakGroup.Token fresh = new LeakGroup.Token(context, unreachable, "");
    fresh.leakGroup().join();
    tally.open(fresh);
    return fresh;
  }

  /** Called by the maintenance thread at intervals. */
  public void tick() {
    if (sampling != null) {
      sampling.restart();
    }
  }

  /** Closes the open leak groups, so that only handles keep their tokens reachable. */
  public void seal() {
    counters.forEachTally(tally -> tally.open(null));
  }

  /**
   * Removes and returns the leak groups whose handles are all unreachable.
   *
   * @param waitNanos the longest wait for the first of them; an interrupt ends the wait and stays
   *     set
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
