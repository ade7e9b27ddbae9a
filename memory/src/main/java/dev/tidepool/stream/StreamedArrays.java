package dev.tidepool.stream;

import dev.tidepool.ElementType;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

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

  /**
   * Creates a stream.
   *
   * @param length elements of all arrays together; -1 if that is unknown
   */
  StreamedArrays(String name, ElementType<A> type, Iterator<? extends A> arrays, long length) {
    this.name = name;
    this.arrays = arrays;
    this.length = length;
    this.window = ArraySource.none(type);
  }

  String name() {
    return name;
  }

  /**
   * Sets the length from the destinations.
   *
   * @throws IllegalArgumentException if they have another one
   */
  void fit(Map<String, ElementSink> sinks) {
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
   * Begins the one run that there may be: what it has taken of the arrays is gone, however it ends.
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

  /** Elements that there may be. */
  long room() {
    return isLengthKnown() ? length : Long.MAX_VALUE;
  }

  /** Some elements in a row; none before the first {@link #next}, nor at the end. */
  ArraySource<A> window() {
    return window;
  }

  /**
   * Goes on to the next elements, about {@code enough} bytes of them; whether there are any.
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

  /** Returns the part of each sink that the window's results go to. */
  Map<String, ElementSink> windowsOf(Map<String, ElementSink> sinks) {
    Map<String, ElementSink> windows = new LinkedHashMap<>();
    sinks.forEach(
        (result, sink) -> windows.put(result, new SinkWindow(sink, start, window.length())));
    return windows;
  }

  /**
   * Returns a listener that is told how far the window is, and tells how far the stream is, as much
   * as is known of it.
   */
  StreamProgress told(StreamProgress progress) {
    long before = start;
    long count = window.length();
    return (done, total) -> {
      long each = total / count;
      progress.moved(before * each + done, (isLengthKnown() ? length : before + count) * each);
    };
  }
}
