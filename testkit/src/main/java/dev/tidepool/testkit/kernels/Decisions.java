package dev.tidepool.testkit.kernels;

import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * The random choices of one kernel. Statements and expressions are parts, numbered in the order in
 * which they are written. An omitted part consumes the same choices, so the rest of the kernel does
 * not change.
 */
final class Decisions {
  private final Kinds kinds;
  private final Random random;
  private final Set<Integer> leftOut;
  private int parts;

  Decisions(long seed, Set<Integer> leftOut, Kinds kinds) {
    this.kinds = kinds;
    this.random = new Random(seed * 0x9E3779B97F4A7C15L);
    this.leftOut = leftOut;
  }

  /** Returns the types that the kernel uses. */
  Kinds kinds() {
    return kinds;
  }

  int next(int bound) {
    return random.nextInt(bound);
  }

  int between(int from, int to) {
    return from + random.nextInt(to - from + 1);
  }

  int anyInt() {
    return random.nextInt();
  }

  long anyLong() {
    return random.nextLong();
  }

  boolean chance(int percent) {
    return random.nextInt(100) < percent;
  }

  <T> T pick(List<T> list) {
    return list.get(random.nextInt(list.size()));
  }

  /** Numbers a part; returns whether it is omitted. */
  boolean leavesOut() {
    return leftOut.contains(parts++);
  }

  /** Returns the number of parts so far. */
  int parts() {
    return parts;
  }
}
