package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.stream.chunk.ChunkPlan;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;

/**
 * Some arrays, one after another, as a source.
 *
 * @param <A> the array that carries elements
 */
final class ArraySource<A> implements ElementSource {
  private final ElementType<A> type;
  private final List<A> arrays = new ArrayList<>();

  /** Where each array begins, which may be before these elements do, and the end of the last. */
  private final List<Long> starts = new ArrayList<>();

  // The last arrays may have more elements, which come next.
  private long length;

  private ArraySource(ElementType<A> type, long start) {
    this.type = type;
    starts.add(start);
  }

  static <A> ArraySource<A> none(ElementType<A> type) {
    return new ArraySource<>(type, 0);
  }

  /**
   * Returns what comes after these: what they left over and the next arrays, until there are {@code
   * enough} bytes or no more arrays. Unless it is all, a multiple of 1024 elements, so that what
   * comes after begins where ranges of sinks may.
   */
  ArraySource<A> next(Iterator<? extends A> more, long enough) {
    int index = length < starts.getLast() ? holding(length) : arrays.size();
    ArraySource<A> some = new ArraySource<>(type, starts.get(index) - length);
    arrays.subList(index, arrays.size()).forEach(some::add);
    long wanted = Math.max(Math.ceilDiv(enough, type.byteSize()), ChunkPlan.SMALLEST_CHUNK);
    while (more.hasNext() && some.starts.getLast() < wanted) {
      some.add(more.next());
    }
    long end = some.starts.getLast();
    some.length = more.hasNext() ? end - end % ChunkPlan.SMALLEST_CHUNK : end;
    return some;
  }

  private void add(A array) {
    arrays.add(Objects.requireNonNull(array, "an array of the stream"));
    starts.add(starts.getLast() + type.length(array));
  }

  @Override
  public ElementType<?> elementType() {
    return type;
  }

  @Override
  public long length() {
    return length;
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
