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
 * Run-length encoding: kernels with a result whose size depends on the data. The first kernel
 * counts the runs that begin in each group. The host adds up these few counts and allocates the
 * result. The second kernel numbers the runs by a scan within the group and stores each at its
 * number. The third kernel converts positions to lengths.
 */
public final class RunLengths {
  private static final int GROUP = 128;
  private static final KernelSource COUNT = KernelSource.method(MethodHandles.lookup(), "count");
  private static final KernelSource STORE = KernelSource.method(MethodHandles.lookup(), "store");
  private static final KernelSource LENGTHS =
      KernelSource.method(MethodHandles.lookup(), "lengths");

  private RunLengths() {}

  /**
   * Runs of equal values.
   *
   * @param values the value of each run
   * @param lengths the length of each run
   */
  @SuppressWarnings("ArrayRecordComponent") // only contents are compared
  record Runs(byte[] values, int[] lengths) {}

  /** Counts the runs that begin in each group. */
  static void count(WorkItem item, byte[] data, int[] counts) {
    if (beginsRun((int) item.globalId(0), data)) {
      item.atomicAdd(counts, (int) item.groupId(0), 1);
    }
  }

  private static boolean beginsRun(int i, byte[] data) {
    return i < data.length && (i == 0 || data[i] != data[i - 1]);
  }

  /** Stores value and position of each run; {@code before} counts the runs before each group. */
  static void store(WorkItem item, byte[] data, int[] before, byte[] values, int[] places) {
    int[] sums = item.localInts(GROUP);
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    boolean begins = beginsRun(i, data);
    int sum = begins ? 1 : 0;
    for (int step = 1; step < GROUP; step *= 2) {
      sums[local] = sum;
      item.barrier();
      if (local >= step) {
        sum += sums[local - step];
      }
      item.barrier();
    }
    if (begins) {
      int run = before[(int) item.groupId(0)] + sum - 1;
      values[run] = data[i];
      places[run] = i;
    }
  }

  /** Computes the length of a run, which ends where the next one begins. */
  static void lengths(int run, int end, int[] places, int[] lengths) {
    int next = run + 1 < places.length ? places[run + 1] : end;
    lengths[run] = next - places[run];
  }

  /** Returns the runs of data that is not empty. */
  static Runs encoded(UnifiedMemoryManager memory, byte[] data) {
    int groups = Math.ceilDiv(data.length, GROUP);
    LaunchRange range = LaunchRange.of((long) groups * GROUP).inGroupsOf(GROUP);
    try (UnifiedBuffer<byte[]> input = memory.copyOf(data)) {
      int[] before = new int[groups];
      memory.compile(COUNT).execute(Arguments.of("data", input, "counts", before), range);
      int runs = 0;
      for (int group = 0; group < groups; group++) {
        int count = before[group];
        before[group] = runs;
        runs += count;
      }
      Runs result = new Runs(new byte[runs], new int[runs]);
      try (UnifiedBuffer<int[]> places = memory.allocate(ElementType.INT, runs)) {
        memory
            .compile(STORE)
            .execute(
                Arguments.of(
                    "data", input, "before", before, "values", result.values, "places", places),
                range);
        memory
            .compile(LENGTHS)
            .execute(Arguments.of("end", data.length, "places", places, "lengths", result.lengths));
      }
      return result;
    }
  }

  /** Computes the result by plain Java. */
  static Runs plain(byte[] data) {
    byte[] values = new byte[data.length];
    int[] lengths = new int[data.length];
    int runs = 0;
    for (byte value : data) {
      if (runs == 0 || values[runs - 1] != value) {
        values[runs++] = value;
      }
      lengths[runs - 1]++;
    }
    return new Runs(Arrays.copyOf(values, runs), Arrays.copyOf(lengths, runs));
  }

  /** Returns random data with runs of one to twenty elements. */
  static byte[] data(int length) {
    Random random = new Random(9);
    byte[] data = new byte[length];
    int end = 0;
    while (end < length) {
      int start = end;
      end = Math.min(length, start + 1 + random.nextInt(20));
      Arrays.fill(data, start, end, (byte) random.nextInt(4));
    }
    return data;
  }

  /** Runs the example; the argument is the number of bytes, 1,000,000 by default. */
  public static void main(String[] arguments) {
    byte[] data = data(Check.size(arguments, 1_000_000));
    Runs runs;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      runs = encoded(memory, data);
    }
    Runs plain = plain(data);
    Check.that(
        Arrays.equals(runs.values, plain.values) && Arrays.equals(runs.lengths, plain.lengths),
        data.length + " bytes are " + runs.lengths.length + " runs, as a loop finds them");
  }
}
