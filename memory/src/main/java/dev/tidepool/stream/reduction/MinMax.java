package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;

/** The least or the greatest element; not-a-number if there is one. */
final class MinMax extends Reducer {
  private final boolean greatest;
  // Unsigned 64-bit integers are compared as signed ones, with the first bit inverted.
  private final long turned;
  private double real;
  private long whole;

  MinMax(ScalarType type, long length, boolean greatest) {
    super(type, length);
    this.greatest = greatest;
    this.turned = type == ScalarType.UINT64 ? Long.MIN_VALUE : 0;
    this.real = greatest ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
    this.whole = greatest ? Long.MIN_VALUE : Long.MAX_VALUE;
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    ElementBatch block = new ElementBatch(type);
    long count = source.byteSize() / type.byteSize();
    for (long at = 0; at < count; at += ElementBatch.LENGTH) {
      int size = (int) Math.min(ElementBatch.LENGTH, count - at);
      if (type.isFloating()) {
        join(real(block.doubles(source, at, size), size));
      } else {
        join(whole(block.longs(source, at, size), size));
      }
    }
  }

  private double real(double[] values, int count) {
    double best = values[0];
    if (greatest) {
      for (int i = 1; i < count; i++) {
        best = Math.max(best, values[i]);
      }
    } else {
      for (int i = 1; i < count; i++) {
        best = Math.min(best, values[i]);
      }
    }
    return best;
  }

  private long whole(long[] values, int count) {
    long best = values[0] ^ turned;
    if (greatest) {
      for (int i = 1; i < count; i++) {
        best = Math.max(best, values[i] ^ turned);
      }
    } else {
      for (int i = 1; i < count; i++) {
        best = Math.min(best, values[i] ^ turned);
      }
    }
    return best;
  }

  private synchronized void join(double part) {
    real = greatest ? Math.max(real, part) : Math.min(real, part);
  }

  private synchronized void join(long part) {
    whole = greatest ? Math.max(whole, part) : Math.min(whole, part);
  }

  @Override
  public synchronized Object value() {
    return type.isFloating() ? boxed(real, type) : boxed(whole ^ turned, type);
  }
}
