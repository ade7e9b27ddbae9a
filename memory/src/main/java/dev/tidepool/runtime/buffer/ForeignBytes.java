package dev.tidepool.runtime.buffer;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.support.SegmentAccess;
import java.lang.foreign.MemorySegment;

/**
 * The host's bytes of buffers that a program implements itself. They have no queue: an operation on
 * them is ordered only by the buffers of this library that it also uses.
 */
public final class ForeignBytes {
  private ForeignBytes() {}

  /** Returns whether a buffer is not one of this library. */
  public static boolean isForeign(UnifiedBuffer<?> buffer) {
    return !(buffer instanceof BufferHandle<?>);
  }

  /**
   * Returns the bytes of a buffer, which threads of this library can access.
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
