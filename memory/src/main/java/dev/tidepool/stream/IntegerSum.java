package dev.tidepool.stream;

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
    ElementBatch block = new ElementBatch(type);
    long count = source.byteSize() / type.byteSize();
    long part = 0;
    for (long at = 0; at < count; at += ElementBatch.LENGTH) {
      int size = (int) Math.min(ElementBatch.LENGTH, count - at);
      long[] values = block.longs(source, at, size);
      for (int i = 0; i < size; i++) {
        part += values[i];
      }
    }
    add(part);
  }

  private synchronized void add(long part) {
    sum += part;
  }

  @Override
  synchronized Object value() {
    return boxed(sum, result);
  }
}
