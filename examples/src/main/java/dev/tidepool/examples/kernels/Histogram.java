package dev.tidepool.examples.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.examples.Check;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.Random;

/**
 * A histogram of bytes by atomic additions. Each group counts in its own memory, where fewer items
 * compete for a counter, and then adds its counters to the result. The number of items does not
 * depend on the data: each item reads bytes at a fixed stride.
 */
public final class Histogram {
  private static final int BINS = 256;
  private static final int GROUPS = 32;
  private static final KernelSource COUNT = KernelSource.method(MethodHandles.lookup(), "count");

  private Histogram() {}

  /** Adds to the counts; a group has as many items as there are counters. */
  static void count(WorkItem item, byte[] values, int[] counts) {
    int[] own = item.localInts(BINS);
    int local = (int) item.localId(0);
    own[local] = 0; // the memory of a group is not cleared
    item.barrier();
    int items = (int) item.globalSize(0);
    for (int i = (int) item.globalId(0); i < values.length; i += items) {
      item.atomicAdd(own, values[i] & 0xff, 1);
    }
    item.barrier();
    item.atomicAdd(counts, local, own[local]);
  }

  /** Returns how often each byte occurs. */
  static int[] counts(UnifiedMemoryManager memory, byte[] values) {
    int[] counts = new int[BINS];
    memory
        .compile(COUNT)
        .execute(
            Arguments.of("values", values, "counts", counts),
            LaunchRange.of(GROUPS * BINS).inGroupsOf(BINS));
    return counts;
  }

  /** Computes the result by plain Java. */
  static int[] plain(byte[] values) {
    int[] counts = new int[BINS];
    for (byte value : values) {
      counts[Byte.toUnsignedInt(value)]++;
    }
    return counts;
  }

  /** Runs the example; the argument is the number of bytes, 1,000,000 by default. */
  public static void main(String[] arguments) {
    byte[] values = new byte[Check.size(arguments, 1_000_000)];
    Random random = new Random(6);
    for (int i = 0; i < values.length; i++) {
      values[i] = (byte) (40 * random.nextGaussian());
    }
    int[] counts;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      counts = counts(memory, values);
    }
    Check.that(
        Arrays.equals(counts, plain(values)), values.length + " bytes are counted as by a loop");
  }
}
