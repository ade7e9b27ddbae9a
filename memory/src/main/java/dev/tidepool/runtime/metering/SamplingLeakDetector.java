package dev.tidepool.runtime.metering;

import dev.tidepool.runtime.context.ManagerContext;
import org.jspecify.annotations.Nullable;

/**
 * Leak groups of a manager that records where buffers are allocated. A buffer in the sample has a
 * leak group of its own, which knows the stack: so its leak is noticed alone, and an allocation
 * needs no other step. A manager that records no sites has a plain {@link LeakDetector}, and its
 * allocations run none of this.
 */
final class SamplingLeakDetector extends LeakDetector {
  private final AllocationSites sites = new AllocationSites();
  private final AllocationSampler sampling;

  /** Creates a detector without groups. The sampler chooses whose sites are recorded. */
  SamplingLeakDetector(
      ManagerContext context, AllocationCounters counters, AllocationSampler sampling) {
    super(context, counters);
    this.sampling = sampling;
  }

  /**
   * Declares the general type, so that a caller that takes the other one need not load this class.
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
