package dev.tidepool.benchmarks;

import java.util.Arrays;
import java.util.Locale;

/**
 * Counts how long operations took; every operation counts once.
 *
 * <p>The sampling mode of JMH 1.37 times fewer and fewer operations during an iteration. It halves
 * its earlier counts each time, but never below one, so rare events appear many times too often.
 * For one thread.
 */
final class Times {
  /** Times below 2^12 ns have a count each; above, a doubling has 2^8 counts. */
  private static final int EXACT_BITS = 12;

  private static final int STEP_BITS = 8;
  private static final double[] SHOWN = {0.5, 0.9, 0.99, 0.999, 0.9999};

  private final long[] counts =
      new long[(1 << EXACT_BITS) + ((Long.SIZE - EXACT_BITS) << STEP_BITS)];

  void add(long nanos) {
    counts[indexOf(nanos)]++;
  }

  void add(Times other) {
    Arrays.setAll(counts, i -> counts[i] + other.counts[i]);
  }

  void clear() {
    Arrays.fill(counts, 0);
  }

  private static int indexOf(long nanos) {
    if (nanos < 1 << EXACT_BITS) {
      return (int) Math.max(0, nanos);
    }
    int bits = Long.SIZE - 1 - Long.numberOfLeadingZeros(nanos);
    int step = (int) (nanos >>> (bits - STEP_BITS)) & ((1 << STEP_BITS) - 1);
    return (1 << EXACT_BITS) + ((bits - EXACT_BITS) << STEP_BITS) + step;
  }

  private static long nanosAt(int index) {
    int beyond = index - (1 << EXACT_BITS);
    if (beyond < 0) {
      return index;
    }
    int bits = EXACT_BITS + (beyond >> STEP_BITS);
    long step = beyond & ((1 << STEP_BITS) - 1);
    return (1L << bits) + (step << (bits - STEP_BITS));
  }

  /** Returns the greatest time of a fraction of all operations. */
  private long percentile(double part) {
    long below = (long) Math.ceil(part * Arrays.stream(counts).sum());
    int index = 0;
    for (long seen = counts[0]; seen < below; seen += counts[index]) {
      index++;
    }
    return nanosAt(index);
  }

  @Override
  public String toString() {
    StringBuilder line = new StringBuilder();
    for (double part : SHOWN) {
      line.append(String.format(Locale.ROOT, "%.2f%% %,d ns  ", part * 100, percentile(part)));
    }
    return line.append(Arrays.stream(counts).sum()).append(" operations").toString();
  }
}
