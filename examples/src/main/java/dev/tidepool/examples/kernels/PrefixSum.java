package dev.tidepool.examples.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.examples.Check;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.Random;

/**
 * A prefix sum of any length. Each group scans its own elements; the sums of the groups are scanned
 * in the same way and added to the elements. The scan of a group is a method with barriers that the
 * kernel calls. Both kernels work in place on one buffer, without copies in between.
 */
public final class PrefixSum {
  private static final int GROUP = 256;
  private static final KernelSource SCAN = KernelSource.method(MethodHandles.lookup(), "scan");
  private static final KernelSource ADD = KernelSource.method(MethodHandles.lookup(), "add");

  private PrefixSum() {}

  /** Scans the elements of each group, and stores the sum of each group. */
  static void scan(WorkItem item, int[] values, int[] sums) {
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    int[] shared = item.localInts(GROUP);
    int sum = sumUpTo(item, local, i < values.length ? values[i] : 0, shared);
    if (i < values.length) {
      values[i] = sum;
    }
    if (local == GROUP - 1) {
      sums[(int) item.groupId(0)] = sum;
    }
  }

  /**
   * Returns the sum of the values of the group's items up to this one (Hillis and Steele, 1986).
   */
  private static int sumUpTo(WorkItem item, int local, int value, int[] shared) {
    int sum = value;
    for (int step = 1; step < GROUP; step *= 2) {
      shared[local] = sum;
      item.barrier();
      if (local >= step) {
        sum += shared[local - step];
      }
      item.barrier();
    }
    return sum;
  }

  /** Adds to each element the sum of all groups before its own. */
  static void add(int i, int[] values, int[] sums) {
    values[i] += i < GROUP ? 0 : sums[i / GROUP - 1];
  }

  /** Replaces each element by the sum of all elements up to it. */
  static void scanAll(UnifiedMemoryManager memory, UnifiedBuffer<int[]> values) {
    long groups = Math.ceilDiv(values.length(), (long) GROUP);
    try (UnifiedBuffer<int[]> sums = memory.allocate(ElementType.INT, groups)) {
      memory
          .compile(SCAN) // compiled once, at any depth
          .execute(
              Arguments.of("values", values, "sums", sums),
              LaunchRange.of(groups * GROUP).inGroupsOf(GROUP));
      if (groups > 1) {
        scanAll(memory, sums);
        memory
            .compile(ADD)
            .execute(Arguments.of("values", values, "sums", sums), LaunchRange.of(values.length()));
      }
    }
  }

  /** Returns for each element the sum of all elements up to it. */
  static int[] sums(UnifiedMemoryManager memory, int[] values) {
    int[] sums = new int[values.length];
    try (UnifiedBuffer<int[]> buffer = memory.copyOf(values)) {
      scanAll(memory, buffer);
      buffer.copyTo(sums);
    }
    return sums;
  }

  /** Computes the result by plain Java. */
  static int[] plain(int[] values) {
    int[] sums = values.clone();
    Arrays.parallelPrefix(sums, Integer::sum);
    return sums;
  }

  /** Runs the example; the argument is the number of elements, 1,000,000 by default. */
  public static void main(String[] arguments) {
    int[] values = new Random(7).ints(Check.size(arguments, 1_000_000)).toArray();
    int[] sums;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      sums = sums(memory, values);
    }
    Check.that(Arrays.equals(sums, plain(values)), values.length + " sums are those of a loop");
  }
}
