package dev.tidepool.stream.pipeline;

import dev.tidepool.ElementType;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.stream.file.AtomicFile;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** An {@code ElementSink}, which is what users see of it, and what only the library asks it. */
public interface Sink {
  ElementType<?> elementType();

  long length();

  void write(long elementOffset, MemorySegment source);

  /** Returns where the elements are written; null if that is not known, or a file that is new. */
  default @Nullable MemoryRange bytes() {
    return null;
  }

  /** Returns the file that is written; null if none is. */
  default @Nullable AtomicFile file() {
    return null;
  }
}
