package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;

/** The sum of integers modulo 2 to the 64th, or the number of trues. */
final class IntegerSum extends Reducer {
  private final ScalarType result;
  private long sum;

  IntegerSum(ScalarType type, long length, ScalarType result) {
    super(type, length);
    this.result = result;
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    add(sum(new ElementBatch(type), source, 0, source.byteSize() / type.byteSize()));
  }

  /** Returns the sum of {@code count} elements from {@code from} on. */
  static long sum(ElementBatch batch, MemorySegment elements, long from, long count) {
    long sum = 0;
    for (long at = 0; at < count; at += ElementBatch.LENGTH) {
      int size = (int) Math.min(ElementBatch.LENGTH, count - at);
      long[] values = batch.longs(elements, from + at, size);
      for (int i = 0; i < size; i++) {
        sum += values[i];
      }
    }
    return sum;
  }

  private synchronized void add(long part) {
    sum += part;
  }

  @Override
  public synchronized Object value() {
    return boxed(sum, result);
  }
}
