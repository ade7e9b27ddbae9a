package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/**
 * Some arrays, one after another, as a source.
 *
 * @param <A> the array that carries elements
 */
final class ArrayElements<A> implements ElementSource {
  private final ElementType<A> type;
  private final List<A> arrays = new ArrayList<>();

  /** Where each array begins, and the end of the last. */
  private final List<Long> starts = new ArrayList<>(List.of(0L));

  private ArrayElements(ElementType<A> type) {
    this.type = type;
  }

  /** The next arrays, until they have {@code enough} bytes together or there are no more. */
  static <A> ArrayElements<A> next(ElementType<A> type, Iterator<? extends A> arrays, long enough) {
    ArrayElements<A> some = new ArrayElements<>(type);
    while (arrays.hasNext() && some.length() * type.byteSize() < enough) {
      A array = arrays.next();
      some.arrays.add(array);
      some.starts.add(some.length() + type.length(array));
    }
    return some;
  }

  @Override
  public ElementType<?> elementType() {
    return type;
  }

  @Override
  public long length() {
    return starts.getLast();
  }

  @Override
  public void read(long elementOffset, MemorySegment destination) {
    long end = elementOffset + type.elements(destination.byteSize());
    int index = holding(elementOffset);
    for (long at = elementOffset; at < end; index++) {
      int skipped = (int) (at - starts.get(index));
      int count = (int) (Math.min(end, starts.get(index + 1)) - at);
      type.write(arrays.get(index), skipped, destination, type.bytes(at - elementOffset), count);
      at += count;
    }
  }

  private int holding(long element) {
    int low = 0;
    int high = arrays.size() - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (starts.get(middle) <= element) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
}
