package dev.tidepool.stream.pipeline;

import dev.tidepool.runtime.buffer.MemoryRange;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Refuses results that would overwrite elements that are still to be read, or each other, because
 * chunks come in any order. A result may be written to exactly the bytes of a source, because each
 * chunk is read before it is written.
 */
public final class OverlapCheck {
  private OverlapCheck() {}

  /**
   * Checks all buffers and arrays that are written.
   *
   * @throws IllegalArgumentException if one has bytes in common with another one, or, at another
   *     place, with a buffer or a file that is read
   */
  public static void check(Map<String, Source> sources, Map<String, Sink> sinks) {
    Map<String, MemoryRange> written = new LinkedHashMap<>();
    sinks.forEach(
        (name, sink) -> {
          MemoryRange bytes = sink.bytes();
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

  private static void checkReadable(String name, Source source, Map<String, MemoryRange> written) {
    MemoryRange bytes = source.bytes();
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

  private static String inOneMemory(MemoryRange written, MemoryRange other) {
    long base = Math.min(written.from(), other.from());
    return "bytes %s to %s and %s to %s of one memory"
        .formatted(
            written.from() - base, written.to() - base, other.from() - base, other.to() - base);
  }
}
