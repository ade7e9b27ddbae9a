package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How many elements lie in each of some bins of equal width, as NumPy's {@code histogram} counts
 * them: a bin has its lower edge but not its upper one, except for the last, which has both; what
 * lies outside, and not-a-number, is not counted. Edges of float32 elements are float32.
 */
final class Histogram extends Reducer {
  private static final long MOST_BINS = 1 << 20;

  private final double[] edges;
  private final double perBin;

  // Under the monitor; a thread takes counts of its own for a range.
  private final ArrayDeque<long[]> idle = new ArrayDeque<>();

  private Histogram(ScalarType type, long length, double[] edges) {
    super(type, length);
    this.edges = edges;
    int bins = edges.length - 1;
    this.perBin = bins / (edges[bins] - edges[0]);
  }

  static Histogram counting(
      Reduction reduction, ScalarType type, long length, Map<String, ?> scalars) {
    Number bins = reduction.settings().get(0).in(scalars);
    double low = reduction.settings().get(1).in(scalars).doubleValue();
    double high = reduction.settings().get(2).in(scalars).doubleValue();
    if (bins instanceof Double || bins.doubleValue() < 1 || bins.doubleValue() > MOST_BINS) {
      throw new IllegalArgumentException(
          "'%s': a histogram of %s bins; give a whole number from 1 to %s"
              .formatted(reduction.name(), bins, MOST_BINS));
    }
    if (!(low <= high)
        || !Double.isFinite(rounded(low, type))
        || !Double.isFinite(rounded(high, type))) {
      throw new IllegalArgumentException(
          "'%s': a histogram from %s to %s; the lowest value must not exceed the highest, and both"
                  .formatted(reduction.name(), low, high)
              + " must be finite");
    }
    // NumPy treats an empty range so.
    double first = low == high ? low - 0.5 : low;
    double last = low == high ? high + 0.5 : high;
    return new Histogram(type, length, edges(reduction, type, bins.intValue(), first, last));
  }

  /** Returns NumPy's {@code linspace}: computed in double, and then rounded. */
  private static double[] edges(
      Reduction reduction, ScalarType type, int bins, double first, double last) {
    double step = (last - first) / bins;
    if (!Double.isFinite(step)) {
      throw new IllegalArgumentException(
          "'%s': the range from %s to %s is too wide for %s; give a narrower one"
              .formatted(reduction.name(), first, last, type.numpyName()));
    }
    double[] edges = new double[bins + 1];
    for (int i = 0; i < bins; i++) {
      edges[i] = rounded(i * step + first, type);
    }
    edges[bins] = rounded(last, type);
    for (int i = 0; i < bins; i++) {
      if (!(edges[i] < edges[i + 1])) {
        throw new IllegalArgumentException(
            "'%s': %s bins from %s to %s are too narrow for %s; give fewer, or a wider range"
                .formatted(reduction.name(), bins, first, last, type.numpyName()));
      }
    }
    return edges;
  }

  private static double rounded(double value, ScalarType type) {
    return type == ScalarType.FLOAT32 ? (float) value : value;
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    ElementBatch block = new ElementBatch(type);
    long count = source.byteSize() / type.byteSize();
    long[] counts = take();
    for (long at = 0; at < count; at += ElementBatch.LENGTH) {
      int size = (int) Math.min(ElementBatch.LENGTH, count - at);
      double[] values = block.doubles(source, at, size);
      for (int i = 0; i < size; i++) {
        count(values[i], counts);
      }
    }
    giveBack(counts);
  }

  private void count(double value, long[] counts) {
    double lowest = edges[0];
    int last = counts.length - 1;
    if (value >= lowest && value <= edges[counts.length]) {
      int bin = Math.min((int) ((value - lowest) * perBin), last);
      // The product may be off by a rounding; the edges decide.
      while (value < edges[bin]) {
        bin--;
      }
      while (bin < last && value >= edges[bin + 1]) {
        bin++;
      }
      counts[bin]++;
    }
  }

  private synchronized long[] take() {
    long @Nullable [] counts = idle.poll();
    return counts == null ? new long[edges.length - 1] : counts;
  }

  private synchronized void giveBack(long[] counts) {
    idle.push(counts);
  }

  @Override
  public synchronized Object value() {
    long[] total = new long[edges.length - 1];
    for (long[] counts : idle) {
      for (int i = 0; i < total.length; i++) {
        total[i] += counts[i];
      }
    }
    return total;
  }
}
