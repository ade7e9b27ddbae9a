package dev.tidepool.cli;

import java.util.ArrayList;
import java.util.List;

/**
 * The times of two implementations of the same work, in nanoseconds. The two run in turn, and each
 * value is the median of its turns.
 */
record PairedTimes(double nanos, double otherNanos) {
  private static final long PATIENCE_NANOS = 200_000_000;
  private static final long TURN_NANOS = 5_000_000;
  private static final int FEWEST_TURNS = 3;

  /** A turn below this fraction of the best one shows that the turns before were the warm-up. */
  private static final double STILL_GETTING_FASTER = 0.8;

  /**
   * Measures both implementations.
   *
   * @param repeats the runs per reading of the clock, because a single run is too short
   */
  static PairedTimes measure(int repeats, Runnable ours, Runnable otherwise) {
    double best = Double.MAX_VALUE;
    double otherBest = Double.MAX_VALUE;
    List<Double> turns = new ArrayList<>();
    List<Double> otherTurns = new ArrayList<>();
    long begin = System.nanoTime();
    while (turns.size() < FEWEST_TURNS || System.nanoTime() - begin < PATIENCE_NANOS) {
      double turn = nanos(repeats, ours);
      double otherTurn = nanos(repeats, otherwise);
      if (turn < STILL_GETTING_FASTER * best || otherTurn < STILL_GETTING_FASTER * otherBest) {
        turns.clear();
        otherTurns.clear();
        begin = System.nanoTime();
      }
      best = Math.min(best, turn);
      otherBest = Math.min(otherBest, otherTurn);
      turns.add(turn);
      otherTurns.add(otherTurn);
    }
    return new PairedTimes(median(turns), median(otherTurns));
  }

  private static double median(List<Double> times) {
    return times.stream().sorted().toList().get(times.size() / 2);
  }

  /** Returns the mean time of the runs of one turn. */
  private static double nanos(int repeats, Runnable action) {
    long start = System.nanoTime();
    long nanos = 0;
    long runs = 0;
    while (nanos < TURN_NANOS) {
      for (int i = 0; i < repeats; i++) {
        action.run();
      }
      runs += repeats;
      nanos = System.nanoTime() - start;
    }
    return (double) nanos / runs;
  }
}
