package dev.tidepool.runtime;

import dev.tidepool.MemoryOptions;
import org.jspecify.annotations.Nullable;

/**
 * Cohorts of a manager that records where buffers are allocated. A buffer in the sample has a
 * cohort of its own, which knows the stack: so its leak is noticed by itself, and the way of an
 * allocation needs no other step. A manager that records no sites has plain {@link Cohorts}, and
 * nothing of this on its way.
 */
final class SitedCohorts extends Cohorts {
  private final Sites sites = new Sites();
  private final SiteSampling sampling;

  private SitedCohorts(AcceleratorMemory memory, SiteSampling sampling) {
    super(memory);
    this.sampling = sampling;
  }

  /** Cohorts as the options of a manager say. */
  static Cohorts of(AcceleratorMemory memory) {
    MemoryOptions options = memory.options();
    return switch (options.diagnostics()) {
      case OFF, COUNTERS -> new Cohorts(memory);
      case SITES -> new SitedCohorts(memory, new SiteSampling(options.siteSampling()));
      case PARANOID -> new SitedCohorts(memory, new SiteSampling(1));
    };
  }

  @Override
  Cohort.@Nullable Token sampled(long bytes) {
    return sampling.takes(bytes) ? alone(sites.here()) : null;
  }

  @Override
  void tick() {
    sampling.restart();
  }
}
