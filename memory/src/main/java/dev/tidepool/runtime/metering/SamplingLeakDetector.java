package dev.tidepool.runtime.metering;

import dev.tidepool.runtime.context.ManagerContext;
import org.jspecify.annotations.Nullable;

/**
 * The leak groups of a manager that records where buffers are allocated. A buffer in the sample has
 * its own leak group, which holds the stack. So its leak is found alone, and allocations need no
 * other step. A manager that records no stacks has a plain {@link LeakDetector}, and its
 * allocations run none of this code.
 */
final class SamplingLeakDetector extends LeakDetector {
  private final AllocationSites sites = new AllocationSites();
  private final AllocationSampler sampling;

  /** Creates a detector without groups. The sampler chooses buffers whose stacks are recorded. */
  SamplingLeakDetector(
      ManagerContext context, AllocationCounters counters, AllocationSampler sampling) {
    super(context, counters);
    this.sampling = sampling;
  }

  /**
   * Creates a detector. The return type is the general one, so that a caller that needs only that
   * type does not load this class.
   */
  static LeakDetector of(
      ManagerContext context, AllocationCounters counters, AllocationSampler sampling) {
    return new SamplingLeakDetector(context, counters, sampling);
  }

  @Override
  public LeakGroup.@Nullable Token sampled(long bytes) {
    return sampling.takes(bytes) ? alone(sites.here()) : null;
  }

  @Override
  public void tick() {
    sampling.restart();
  }
}
