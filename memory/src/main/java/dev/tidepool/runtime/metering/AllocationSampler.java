package dev.tidepool.runtime.metering;

import dev.tidepool.pool.ThreadStripe;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Chooses the allocations whose stack is recorded: a sample by bytes, like those of tcmalloc and
 * the JDK's flight recorder. The bytes between two samples are exponentially distributed. So no
 * pattern of sizes escapes the sample, and a large buffer is more likely to be sampled than a small
 * one.
 *
 * <p><b>Cost.</b> Recording a stack costs as much as a hundred allocations, and buffers may be
 * larger than the distance between samples. So a stripe of threads that has taken {@link #DENSE}
 * samples doubles the distance with each further one, until the next {@link #restart}. A stripe
 * that allocates without pause takes about thirty stacks in that time, whatever the sizes.
 *
 * <p>Thread-safe. Threads of a stripe count without synchronization, because one sample more or
 * less does no harm.
 */
final class AllocationSampler {
  private static final int STRIPES = 8;

  /** The number of samples at the requested distance. */
  private static final int DENSE = 16;

  private static final int MOST_DOUBLINGS = 40;

  @SuppressWarnings("UnusedVariable") // the padding
  private static final class Countdown {
    long left;
    int taken;

    // Keeps the next countdown on another cache line.
    long pad1;
    long pad2;
    long pad3;
    long pad4;
    long pad5;
    long pad6;
    long pad7;
  }

  private final long distance;
  private final Countdown[] countdowns = new Countdown[STRIPES];

  /**
   * Creates a sampler.
   *
   * @param distance mean bytes between two samples; 1 samples every allocation, also empty ones
   */
  AllocationSampler(long distance) {
    this.distance = distance;
    for (int i = 0; i < STRIPES; i++) {
      countdowns[i] = new Countdown();
      countdowns[i].left = step(0);
    }
  }

  /** Returns whether an allocation of this many bytes is in the sample. */
  boolean takes(long bytes) {
    if (distance == 1) {
      return true;
    }
    Countdown countdown = countdowns[ThreadStripe.mine(STRIPES)];
    long left = countdown.left - bytes;
    countdown.left = left;
    return left < 0 && taken(countdown);
  }

  private boolean taken(Countdown countdown) {
    int taken = countdown.taken + 1;
    countdown.taken = taken;
    countdown.left = step(taken - DENSE);
    return true;
  }

  /** Returns to the requested distance. */
  void restart() {
    for (Countdown countdown : countdowns) {
      if (countdown.taken > DENSE) {
        // The rest of a long step can be replaced: an exponential distribution has no memory.
        countdown.left = step(0);
      }
      countdown.taken = 0;
    }
  }

  private long step(int doublings) {
    double mean = distance * (double) (1L << Math.clamp(doublings, 0, MOST_DOUBLINGS));
    return (long) (-mean * Math.log(1 - ThreadLocalRandom.current().nextDouble()));
  }
}
