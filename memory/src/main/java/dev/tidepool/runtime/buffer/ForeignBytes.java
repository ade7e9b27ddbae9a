package dev.tidepool.runtime.buffer;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.support.SegmentAccess;
import java.lang.foreign.MemorySegment;

/**
 * The host's bytes of buffers that a program implements itself. Nothing here keeps them in an
 * order: operations on them have that of the buffers of this library that take part.
 */
public final class ForeignBytes {
  private ForeignBytes() {}

  /** Returns whether a buffer is not one of this library. */
  public static boolean isForeign(UnifiedBuffer<?> buffer) {
    return !(buffer instanceof BufferHandle<?>);
  }

  /**
   * Returns the bytes of a buffer, for threads of this library.
   *
   * @throws IllegalArgumentException if the buffer's segment belongs to one thread, or is read-only
   *     and is to be written
   * @throws IndexOutOfBoundsException if the segment is too short for the elements
   */
  public static MemorySegment of(UnifiedBuffer<?> buffer, boolean writing) {
    MemorySegment segment = writing ? buffer.asSegment() : buffer.asReadOnlySegment();
    if (!SegmentAccess.isForAllThreads(segment)) {
      throw new IllegalArgumentException(
          "the segment of "
              + buffer
              + " belongs to one thread, but others move its bytes; return one of"
              + " Arena.ofShared() or Arena.ofAuto(), or use copyFrom and copyTo");
    }
    if (writing && segment.isReadOnly()) {
      throw new IllegalArgumentException("the segment of " + buffer + " is read-only");
    }
    return segment.asSlice(0, buffer.byteSize());
  }
}
