package dev.tidepool.stream;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;

/** The sum of integers modulo 2 to the 64th, or the number of trues. */
final class WholeSum extends Folding {
  private final ScalarType result;
  private long sum;

  WholeSum(ScalarType type, long length, ScalarType result) {
    super(type, length);
    this.result = result;
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    ElementBlock block = new ElementBlock(type);
    long count = source.byteSize() / type.byteSize();
    long part = 0;
    for (long at = 0; at < count; at += ElementBlock.LENGTH) {
      int size = (int) Math.min(ElementBlock.LENGTH, count - at);
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
