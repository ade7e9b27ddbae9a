package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.stream.chunk.ChunkPlan;
import dev.tidepool.stream.pipeline.RangeSink;
import dev.tidepool.stream.pipeline.Sink;
import dev.tidepool.stream.pipeline.Source;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;

/**
 * A stream of arrays as the source of a pipeline: a window of some of them at a time, so that it
 * may be longer than memory. Not thread-safe; for one run.
 *
 * @param <A> the array that carries elements
 */
final class StreamedArrays<A> {
  private final String name;
  private final Iterator<? extends A> arrays;
  private ArraySource<A> window;
  // Where the window begins among all elements.
  private long start;
  // Elements of all arrays together; -1 as long as that is unknown.
  private long length;
  private boolean begun;

  private StreamedArrays(
      String name, ElementType<A> type, Iterator<? extends A> arrays, long length) {
    this.name = name;
    this.arrays = arrays;
    this.length = length;
    this.window = new ArraySource<>(type, 0);
  }

  /**
   * Returns the arrays of a stream.
   *
   * @param length elements of all arrays together; -1 if that is unknown
   */
  static <A> StreamedArrays<A> of(
      String name, ElementType<A> type, Stream<? extends A> arrays, long length) {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(arrays, "arrays");
    return new StreamedArrays<>(name, type, arrays.iterator(), length);
  }

  String name() {
    return name;
  }

  /**
   * Sets the length from the destinations.
   *
   * @throws IllegalArgumentException if they have another one
   */
  void fit(Map<String, Sink> sinks) {
    sinks.forEach(
        (result, sink) -> {
          if (length >= 0 && sink.length() != length) {
            throw new IllegalArgumentException(
                "'%s' has %s elements, the stream or the results before it %s"
                    .formatted(result, sink.length(), length));
          }
          length = sink.length();
        });
  }

  /**
   * Begins the only run. There can be no second one, because a run consumes the arrays.
   *
   * @throws IllegalStateException if it began before
   */
  void begin() {
    if (begun) {
      throw new IllegalStateException(
          "the stream '" + name + "' was read by an earlier run; make another pipeline");
    }
    begun = true;
  }

  boolean isLengthKnown() {
    return length >= 0;
  }

  /** Returns the most elements that there can be. */
  long room() {
    return isLengthKnown() ? length : Long.MAX_VALUE;
  }

  /** Returns the current elements; none before the first {@link #next}, and at the end. */
  Source window() {
    return window;
  }

  /**
   * Moves to the next elements, about {@code enough} bytes. Returns whether there are any.
   *
   * @throws IllegalArgumentException if there are more or fewer than the length
   */
  boolean next(long enough) {
    start += window.length();
    window = window.next(arrays, enough);
    long end = start + window.length();
    if (end > room() || (window.length() == 0 && isLengthKnown() && end < length)) {
      throw new IllegalArgumentException(
          "the stream '%s' has %s %s elements, but its results %s"
              .formatted(name, end > length ? "at least" : "only", end, length));
    }
    return window.length() > 0;
  }

  /** Returns an exception with the position in the stream, which the window does not know. */
  CancellationException cancelled(CancellationException cause) {
    CancellationException cancelled =
        new CancellationException(
            "cancelled between elements %s and %s of the stream '%s'"
                .formatted(start, start + window.length(), name));
    cancelled.initCause(cause);
    return cancelled;
  }

  /** Returns the part of each sink that the window's results go to. */
  Map<String, Sink> windowsOf(Map<String, Sink> sinks) {
    Map<String, Sink> windows = new LinkedHashMap<>();
    long from = start;
    sinks.forEach(
        (result, sink) ->
            windows.put(
                result,
                new RangeSink(
                    sink.elementType(),
                    window.length(),
                    (at, elements) -> sink.write(from + at, elements))));
    return windows;
  }

  /**
   * Returns a listener for the progress of the window that reports the progress of the stream, as
   * far as it is known.
   */
  StreamProgress told(StreamProgress progress) {
    long before = start;
    long count = window.length();
    return (done, total) -> {
      long each = total / count;
      progress.moved(before * each + done, (isLengthKnown() ? length : before + count) * each);
    };
  }

  /**
   * Consecutive arrays as a source.
   *
   * @param <A> the array that carries elements
   */
  private static final class ArraySource<A> implements Source {
    private final ElementType<A> type;
    private final List<A> arrays = new ArrayList<>();

    /**
     * The start of each array, which may be before the first element, and the end of the last one.
     */
    private final List<Long> starts = new ArrayList<>();

    // The last arrays may have more elements, which come next.
    private long length;

    ArraySource(ElementType<A> type, long start) {
      this.type = type;
      starts.add(start);
    }

    /**
     * Returns the elements after these: the rest of these arrays and the next ones, until there are
     * {@code enough} bytes or no more arrays. If arrays are left, the number of elements is a
     * multiple of 1024, because ranges of sinks begin at such multiples.
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
}
