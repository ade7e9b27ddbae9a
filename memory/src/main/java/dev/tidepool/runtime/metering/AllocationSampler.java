package dev.tidepool.runtime.metering;

import dev.tidepool.pool.ThreadStripe;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Chooses the allocations whose stack is recorded: a sample by bytes, as tcmalloc and the JDK's
 * flight recorder take it. The bytes between two samples are exponentially distributed, so that no
 * pattern of sizes escapes the sample, and a large buffer is more likely to be in it than a small
 * one.
 *
 * <p><b>Cost.</b> A stack costs as much as a hundred allocations, and buffers may be larger than
 * the distance between samples. So the stripe of threads that has taken {@link #DENSE} samples
 * doubles the distance with each further one, until {@link #restart} some moments later: a stripe
 * that allocates without end takes about thirty stacks in that time, whatever its sizes.
 *
 * <p>Thread-safe. Threads of a stripe count without synchronization, because a sample more or less
 * does no harm.
 */
final class AllocationSampler {
  private static final int STRIPES = 8;

  /** Samples at the distance that was asked for. */
  private static final int DENSE = 16;

  private static final int MOST_DOUBLINGS = 40;

  @SuppressWarnings("UnusedVariable") // the padding
  private static final class Countdown {
    long left;
    int taken;

    // Keeps the next one on the heap a cache line away.
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
   * Creates a sampling.
   *
   * @param distance mean bytes between two samples; 1 takes every allocation, empty ones too
   */
  AllocationSampler(long distance) {
    this.distance = distance;
    for (int i = 0; i < STRIPES; i++) {
      countdowns[i] = new Countdown();
      countdowns[i].left = step(0);
    }
  }

  /** Returns whether an allocation of a number of bytes is in the sample. */
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

  /** Goes back to the distance that was asked for. */
  void restart() {
    for (Countdown countdown : countdowns) {
      if (countdown.taken > DENSE) {
        // The rest of a long step is replaced: an exponential distribution has no memory.
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
