package dev.tidepool.stream.pipeline;

import dev.tidepool.ElementType;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.stream.file.AtomicFile;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Takes the elements that a pipeline computes. Like {@code ElementSink}, which users implement, but
 * it also reports where the elements go.
 */
public interface Sink {
  ElementType<?> elementType();

  long length();

  void write(long elementOffset, MemorySegment source);

  /** Returns where the elements are written; null if that is unknown, or a new file. */
  default @Nullable MemoryRange bytes() {
    return null;
  }

  /** Returns the file that is written; null if none is. */
  default @Nullable AtomicFile file() {
    return null;
  }
}
