package dev.tidepool.stream.pipeline;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.stream.file.PositionalFile;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Elements that a pipeline reads. Like {@code ElementSource}, which users implement, but it also
 * reports where the elements are.
 */
public interface Source {
  ElementType<?> elementType();

  long length();

  /**
   * Fills a segment with the elements that start at {@code elementOffset}, in the platform's byte
   * order. Called by several threads at once.
   */
  void read(long elementOffset, MemorySegment destination);

  /**
   * Fills a buffer on its accelerator, if that is possible and cheaper than {@link #read} and a
   * transfer. Called by several threads at once.
   *
   * @param memory the buffer's manager
   * @return whether the buffer is filled; if not, the caller calls {@link #read}
   */
  default boolean load(
      long elementOffset, UnifiedBuffer<?> destination, UnifiedMemoryManager memory) {
    return false;
  }

  /** Returns where the elements are read, in their order; null if that is unknown. */
  default @Nullable MemoryRange bytes() {
    return null;
  }

  /** Returns the file that holds the elements in their order, uncompressed; null if none does. */
  default @Nullable PositionalFile plainFile() {
    return null;
  }
}
