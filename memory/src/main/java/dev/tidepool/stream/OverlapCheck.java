package dev.tidepool.stream;

import dev.tidepool.runtime.buffer.MemoryRange;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Refuses results that would be written over elements which are still to be read, or over each
 * other: chunks come in any order. What is written to the very bytes that it is read from is
 * updated in place, because each chunk is read before it is written.
 */
final class OverlapCheck {
  private OverlapCheck() {}

  /**
   * Checks all buffers and arrays that are written.
   *
   * @throws IllegalArgumentException if one has bytes in common with another one, or, at another
   *     place, with a buffer or a file that is read
   */
  static void check(
      Map<String, ? extends ElementSource> sources, Map<String, ? extends ElementSink> sinks) {
    Map<String, MemoryRange> written = new LinkedHashMap<>();
    sinks.forEach(
        (name, sink) -> {
          MemoryRange bytes = bytes(sink);
          if (bytes != null) {
            checkApart(name, bytes, written);
            written.put(name, bytes);
          }
        });
    if (!written.isEmpty()) {
      sources.forEach((name, source) -> checkReadable(name, source, written));
    }
  }

  private static void checkApart(String name, MemoryRange bytes, Map<String, MemoryRange> others) {
    others.forEach(
        (other, taken) -> {
          if (taken.overlaps(bytes)) {
            throw new IllegalArgumentException(
                "'%s' and '%s' are written over each other, to %s; give each bytes of its own"
                    .formatted(other, name, inOneMemory(taken, bytes)));
          }
        });
  }

  private static void checkReadable(
      String name, ElementSource source, Map<String, MemoryRange> written) {
    MemoryRange bytes = bytes(source);
    if (bytes == null) {
      return;
    }
    written.forEach(
        (result, taken) -> {
          if (taken.overlaps(bytes) && !taken.equals(bytes)) {
            throw new IllegalArgumentException(
                "'%s' is written over elements of '%s' that are still to be read, to %s; write it"
                        .formatted(result, name, inOneMemory(taken, bytes))
                    + " to bytes of its own, or to the very bytes that are read");
          }
        });
  }

  /** Where the elements are read, in their order; null if that is not known. */
  private static @Nullable MemoryRange bytes(ElementSource source) {
    return switch (source) {
      case BufferEndpoint(var buffer) -> MemoryRange.of(buffer);
      case NpyReader reader -> reader.bytes();
      case RawReader reader -> reader.bytes();
      case ArrayEndpoint<?> array -> bytes(array);
      case TransposedSource turned -> turned.bytes();
      default -> null;
    };
  }

  /** Where the elements are written; null if that is not known, or a file that is new. */
  private static @Nullable MemoryRange bytes(ElementSink sink) {
    return switch (sink) {
      case BufferEndpoint(var buffer) -> MemoryRange.of(buffer);
      case ArrayEndpoint<?> array -> bytes(array);
      default -> null;
    };
  }

  private static <A> MemoryRange bytes(ArrayEndpoint<A> array) {
    return MemoryRange.ofArray(array.elementType(), array.array());
  }

  private static String inOneMemory(MemoryRange written, MemoryRange other) {
    long base = Math.min(written.from(), other.from());
    return "bytes %s to %s and %s to %s of one memory"
        .formatted(
            written.from() - base, written.to() - base, other.from() - base, other.to() - base);
  }
}
