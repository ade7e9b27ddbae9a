package dev.tidepool.testkit.conformance;

import dev.tidepool.WorkItem;

/** Java methods as kernels whose items share memory: atomic operations, groups and barriers. */
final class GroupKernels {
  private static final int TILE = 8;

  private GroupKernels() {}

  static void counted(WorkItem item, int[] values, int[] counts, int[] extremes, float[] sum) {
    int value = values[(int) item.globalId(0)];
    item.atomicAdd(counts, value, 1);
    item.atomicMin(extremes, 0, value);
    item.atomicMax(extremes, 1, value);
    item.atomicAdd(sum, 0, 1f);
    for (int before = extremes[2]; !item.atomicCompareAndSet(extremes, 2, before, before + 2); ) {
      before = extremes[2];
    }
  }

  static void sumsOfGroups(WorkItem item, int[] in, int[] sums) {
    int[] shared = item.localInts(64);
    int local = (int) item.localId(0);
    int size = (int) item.groupSize(0);
    shared[local] = in[(int) item.globalId(0)];
    item.barrier();
    for (int step = size / 2; step > 0; step /= 2) {
      if (local < step) {
        shared[local] += shared[local + step];
      }
      item.barrier();
    }
    if (local == 0) {
      sums[(int) item.groupId(0)] = shared[0];
    }
  }

  static void earlyReturn(WorkItem item, int limit, int[] in, int[] out) {
    int[] shared = item.localInts(64);
    int local = (int) item.localId(0);
    int i = (int) item.globalId(0);
    shared[local] = in[i];
    if (i >= limit) {
      return;
    }
    item.barrier();
    out[i] = shared[(local + 1) % (int) item.groupSize(0)];
  }

  /** Diverges after a barrier in a condition. */
  static void barrierInCondition(WorkItem item, int limit, int[] out) {
    int i = (int) item.globalId(0);
    if (limit > 0) {
      item.barrier();
      if (i < limit) {
        out[i] = limit;
      }
    }
  }

  /** After the last barrier of a condition, some items jump to its end and others do not. */
  static void jumpToEndOfCondition(WorkItem item, int count, int[] out) {
    int i = (int) item.globalId(0);
    out[i] = i;
    if (count > 0) {
      item.barrier();
      out[i] += 10;
      if (i % 3 == 0 || out[i] > 14) {
        out[i] += 100;
      }
    } else {
      out[i] = 1;
    }
    out[i] += 1000;
  }

  /** Both branches have a barrier; one item returns before that of the second. */
  static void barriersInBothParts(WorkItem item, int count, int[] out) {
    int i = (int) item.globalId(0);
    if (count > 0) {
      item.barrier();
      out[i] = count;
    } else {
      if (i == 3) {
        return;
      }
      item.barrier();
      out[i] = 9;
    }
  }

  /** An inner loop without barriers continues an outer loop with a barrier. */
  static void leavesInnerLoop(WorkItem item, int skipped, int[] out) {
    int i = (int) item.globalId(0);
    rounds:
    for (int k = 0; k < 3; k++) {
      for (int j = 0; j < 3; j++) {
        if (k == skipped) {
          continue rounds;
        }
        out[i] += 2;
      }
      out[i] += 10;
      item.barrier();
    }
  }

  /** The number of barriers after the returns depends on code that could throw or not end. */
  static void returnTogether(WorkItem item, int last, int divisor, int[] rounds, int[] out) {
    int i = (int) item.globalId(0);
    if (i % 3 == 1) {
      return;
    }
    item.barrier();
    if (last < 0) {
      return;
    }
    if (divisor == 0) {
      return;
    }
    int count = rounds[last] / divisor;
    for (int k = 0; k < count; k += divisor) {
      item.barrier();
      out[i] += k + 1;
    }
  }

  /** Calls a method with several returns and loads before a barrier. */
  static void callsBeforeBarriers(WorkItem item, int[] in, int[] out) {
    int[] shared = item.localInts(64);
    int local = (int) item.localId(0);
    int i = (int) item.globalId(0);
    shared[local] = isRise(i, in) ? 1 : 0;
    item.barrier();
    int rises = shared[local];
    for (int step = 1; step < (int) item.groupSize(0); step *= 2) {
      int other = shared[(local + step) % (int) item.groupSize(0)];
      item.barrier();
      shared[local] += other;
      item.barrier();
    }
    if (rises > 0) {
      int place = i - local + shared[local];
      out[i] = 1000 * place + i;
    }
  }

  private static boolean isRise(int i, int[] in) {
    return i < in.length && (i == 0 || in[i] > in[i - 1]);
  }

  static void tiled(WorkItem item, int n, float[] a, float[] b, float[] c) {
    float[] tileA = item.localFloats(TILE * TILE);
    float[] tileB = item.localFloats(TILE * TILE);
    int column = (int) item.globalId(0);
    int row = (int) item.globalId(1);
    int x = (int) item.localId(0);
    int y = (int) item.localId(1);
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
      tileA[y * TILE + x] = a[row * n + t + x];
      tileB[y * TILE + x] = b[(t + y) * n + column];
      item.barrier();
      for (int k = 0; k < TILE; k++) {
        sum += tileA[y * TILE + k] * tileB[k * TILE + x];
      }
      item.barrier();
    }
    c[row * n + column] = sum;
  }

  static void countedInLongs(
      WorkItem item, int[] values, long[] counts, long[] extremes, long[] own) {
    int i = (int) item.globalId(0);
    int value = values[i];
    long wide = value * 0x1_0000_0001L;
    own[i] = item.atomicAdd(counts, value, 0x1_0000_0000L) >= 0 ? wide : -1;
    item.atomicMin(extremes, 0, wide);
    item.atomicMax(extremes, 1, wide);
    for (long before = extremes[2];
        !item.atomicCompareAndSet(extremes, 2, before, before + 0x1_0000_0000L); ) {
      before = extremes[2];
    }
  }

  /** Performs atomic operations on group memory. */
  static void countedInGroups(WorkItem item, int[] values, int[] counts) {
    int[] shared = item.localInts(16);
    int local = (int) item.localId(0);
    if (local < 16) {
      shared[local] = 0;
    }
    item.barrier();
    item.atomicAdd(shared, values[(int) item.globalId(0)], 1);
    item.barrier();
    if (local < 16) {
      item.atomicAdd(counts, local, shared[local]);
    }
  }

  /** Each group reverses its elements, in memory of each integer type. */
  static void turnedIntegers(
      WorkItem item, byte[] bytes, short[] shorts, int[] ints, long[] longs) {
    byte[] sharedBytes = item.localBytes(32);
    short[] sharedShorts = item.localShorts(32);
    int[] sharedInts = item.localInts(32);
    long[] sharedLongs = item.localLongs(32);
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    sharedBytes[local] = bytes[i];
    sharedShorts[local] = shorts[i];
    sharedInts[local] = ints[i];
    sharedLongs[local] = longs[i];
    item.barrier();
    int other = (int) item.groupSize(0) - 1 - local;
    bytes[i] = sharedBytes[other];
    shorts[i] = sharedShorts[other];
    ints[i] = sharedInts[other];
    longs[i] = sharedLongs[other];
  }

  static void turnedFloats(WorkItem item, float[] values) {
    float[] shared = item.localFloats(32);
    int local = (int) item.localId(0);
    shared[local] = values[(int) item.globalId(0)];
    item.barrier();
    values[(int) item.globalId(0)] = shared[(int) item.groupSize(0) - 1 - local];
  }

  static void turnedDoubles(WorkItem item, double[] values) {
    double[] shared = item.localDoubles(32);
    int local = (int) item.localId(0);
    shared[local] = values[(int) item.globalId(0)];
    item.barrier();
    values[(int) item.globalId(0)] = shared[(int) item.groupSize(0) - 1 - local];
  }

  /** An array contains the number of barriers. */
  static void roundsFromAnArray(WorkItem item, int[] rounds, int[] out) {
    int i = (int) item.globalId(0);
    int last = rounds[0];
    for (int round = 0; round < last; round++) {
      item.barrier();
      out[i] += round;
    }
  }

  /** Between barriers are conditions of several parts, with loads that only some items execute. */
  @SuppressWarnings("LabelledBreakTarget") // such jumps must be translated
  static void waysBetweenBarriers(WorkItem item, int count, int[] in, int[] out) {
    int[] shared = item.localInts(4);
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    shared[local] = 0;
    if (i >= count) {
      return;
    }
    shared[local] = in[i];
    item.barrier();
    if (local == 0 || shared[local - 1] > 50) {
      out[i] += 1;
    }
    out[i] += local < 3 && shared[local + 1] > 50 ? 10 : 20;
    item.barrier();
    way:
    {
      if (in[i] > 30) {
        if (shared[3 - local] > 40) {
          break way;
        }
        out[i] += 100;
      }
      out[i] += 200;
    }
    item.barrier();
    shared[local] += local;
    item.barrier();
    out[i] += 1000 * shared[3 - local];
  }

  /** Items that have returned do not count after a barrier. */
  @SuppressWarnings("LabelledBreakTarget") // such jumps must be translated
  static void countsBehindABarrier(WorkItem item, int count, int[] counted, int[] out) {
    int i = (int) item.globalId(0);
    if (i >= count) {
      return;
    }
    item.barrier();
    if (count < 0 || item.atomicAdd(counted, 0, 1) > 1000) {
      out[i] = 1;
    }
    block:
    {
      item.barrier();
      if (count > 2) {
        for (int k = 0; k < 5; k++) {
          if (out[i] == 77 + k) {
            break block;
          }
        }
        out[i]++;
      }
      out[i] += 2;
    }
  }

  /** The item itself writes the element on which its branch depends. */
  static void waysByWrittenElements(WorkItem item, int[] values) {
    int i = (int) item.globalId(0);
    item.barrier();
    if (item.localId(0) == 0 || values[i] > 3) {
      values[i] = -1;
    }
  }

  /** Loads and divisions, repeated in each round, determine the number of barriers. */
  static void roundsBehindReturns(WorkItem item, int divisor, int[] rounds, int[] out) {
    int i = (int) item.globalId(0);
    int group = (int) item.groupId(0);
    if (out[i] == 7) {
      return;
    }
    for (int k = 0; k < rounds[group] / divisor; k++) {
      item.barrier();
      out[i] += 3;
    }
    int more = rounds[group] % divisor;
    for (int k = 0; k < more; k++) {
      item.barrier();
      out[i] += 100;
    }
    item.barrier();
    out[i] += i;
  }

  /** The last round is known only when the array's zero or end is reached. */
  static void roundsUntilZero(WorkItem item, int[] rounds, int[] out) {
    int i = (int) item.globalId(0);
    if (i == 1) {
      return;
    }
    for (int k = 0; rounds[k] != 0; k++) {
      item.barrier();
      out[i] += rounds[k];
    }
    item.barrier();
    out[i] += 1000;
  }

  /** Some or all items return early on several conditions. */
  static void returnsOfSeveralConditions(WorkItem item, int count, int last, int[] in, int[] out) {
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    if (i >= count || last < 0) {
      return;
    }
    item.barrier();
    if (!(in[i] < 90 && local <= last)) {
      out[i] = -1;
      return;
    }
    for (int k = 0; k < 3; k++) {
      item.barrier();
      if (i + k >= count || in[i] == k) {
        return;
      }
      out[i] += k + 1;
    }
    if (count == 5 || last == 2) {
      return;
    }
    item.barrier();
    out[i] += 100;
  }

  /** Stores all 15 numbers of each item. */
  static void numbersOfItems(WorkItem item, long[] out) {
    long row = item.globalId(2) * item.globalSize(1) + item.globalId(1);
    int at = (int) (row * item.globalSize(0) + item.globalId(0)) * 15;
    out[at] = item.globalId(0);
    out[at + 1] = item.globalId(1);
    out[at + 2] = item.globalId(2);
    out[at + 3] = item.localId(0);
    out[at + 4] = item.localId(1);
    out[at + 5] = item.localId(2);
    out[at + 6] = item.groupId(0);
    out[at + 7] = item.groupId(1);
    out[at + 8] = item.groupId(2);
    out[at + 9] = item.groupSize(0);
    out[at + 10] = item.groupSize(1);
    out[at + 11] = item.groupSize(2);
    out[at + 12] = item.globalSize(0);
    out[at + 13] = item.globalSize(1);
    out[at + 14] = item.globalSize(2);
  }
}
