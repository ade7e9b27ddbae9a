package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;

/**
 * The index of the first least or greatest element; of the first that is not a number if there is
 * one.
 */
final class ArgReducer extends Reducer {
  private final boolean greatest;
  private long best = -1;
  private double bestReal;
  private long bestWhole;

  ArgReducer(ScalarType type, long length, boolean greatest) {
    super(type, length);
    this.greatest = greatest;
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    Search search = new Search(type, greatest);
    long index = search.find(source, 0, source.byteSize() / type.byteSize());
    join(elementOffset + index, search);
  }

  private synchronized void join(long index, Search found) {
    boolean better =
        type.isFloating()
            ? isBefore(found.real, bestReal, greatest)
            : greatest ? found.whole > bestWhole : found.whole < bestWhole;
    boolean equal =
        type.isFloating() ? !isBefore(bestReal, found.real, greatest) : found.whole == bestWhole;
    if (best < 0 || better || (equal && index < best)) {
      best = index;
      bestReal = found.real;
      bestWhole = found.whole;
    }
  }

  /**
   * Returns whether {@code a} is chosen before {@code b}: what is not a number is before all that
   * is.
   */
  private static boolean isBefore(double a, double b, boolean greatest) {
    return (greatest ? a > b : a < b) || (Double.isNaN(a) && !Double.isNaN(b));
  }

  /** Returns the index, a {@link Long}. */
  @Override
  public synchronized Object value() {
    return best;
  }

  /** Searches adjacent elements. Not thread-safe. */
  static final class Search {
    private final ScalarType type;
    private final boolean greatest;
    private final ElementBatch batch;
    // Unsigned 64-bit integers are compared as signed ones, with the first bit inverted.
    private final long turned;
    private double real;
    private long whole;

    Search(ScalarType type, boolean greatest) {
      this.type = type;
      this.greatest = greatest;
      this.batch = new ElementBatch(type);
      this.turned = type == ScalarType.UINT64 ? Long.MIN_VALUE : 0;
    }

    /**
     * Returns the index, counted from {@code from}, of the first that is chosen of {@code count}.
     */
    long find(MemorySegment elements, long from, long count) {
      long found = 0;
      for (long at = 0; at < count; at += ElementBatch.LENGTH) {
        int size = (int) Math.min(ElementBatch.LENGTH, count - at);
        int index =
            type.isFloating()
                ? real(batch.doubles(elements, from + at, size), size, at == 0)
                : whole(batch.longs(elements, from + at, size), size, at == 0);
        found = index < 0 ? found : at + index;
      }
      return found;
    }

    private int real(double[] values, int count, boolean first) {
      int index = first ? 0 : -1;
      double chosen = first ? values[0] : real;
      for (int i = 0; i < count; i++) {
        if (isBefore(values[i], chosen, greatest)) {
          chosen = values[i];
          index = i;
        }
      }
      real = chosen;
      return index;
    }

    private int whole(long[] values, int count, boolean first) {
      int index = first ? 0 : -1;
      long chosen = first ? values[0] ^ turned : whole;
      for (int i = 0; i < count; i++) {
        long value = values[i] ^ turned;
        if (greatest ? value > chosen : value < chosen) {
          chosen = value;
          index = i;
        }
      }
      whole = chosen;
      return index;
    }
  }
}
