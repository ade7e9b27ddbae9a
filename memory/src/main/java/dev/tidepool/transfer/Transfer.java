package dev.tidepool.transfer;

import dev.tidepool.UnifiedBuffer;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * One pair of a list of transfers. All of a source is copied to the front of a destination. Use
 * slices to pass a part of a buffer or segment. The compiler checks that the element types of both
 * sides agree, and {@code of} that neither side is null. Everything else is checked when the list
 * is submitted, and a bad pair fails alone.
 *
 * <p>Do not use arrays and segments until the transfer has ended. All threads must have access to a
 * segment.
 *
 * @param <A> the Java array that carries elements
 */
public sealed interface Transfer<A> {
  /**
   * Returns a transfer of a whole array to the front of a buffer; see {@link
   * UnifiedBuffer#copyFrom(Object)}.
   */
  static <A> Transfer<A> of(A source, UnifiedBuffer<A> destination) {
    return new FromArray<>(source, destination);
  }

  /**
   * Returns a transfer of a whole buffer to the front of an array; see {@link
   * UnifiedBuffer#copyTo(Object)}.
   */
  static <A> Transfer<A> of(UnifiedBuffer<A> source, A destination) {
    return new ToArray<>(source, destination);
  }

  /** Returns a transfer of a whole buffer to the front of another. The two must not overlap. */
  static <A> Transfer<A> of(UnifiedBuffer<A> source, UnifiedBuffer<A> destination) {
    return new BetweenBuffers<>(source, destination);
  }

  /** Returns a transfer of a whole segment of whole elements to the front of a buffer. */
  static <A> Transfer<A> of(MemorySegment source, UnifiedBuffer<A> destination) {
    return new FromSegment<>(source, destination);
  }

  /** Returns a transfer of a whole buffer to the front of a segment. */
  static <A> Transfer<A> of(UnifiedBuffer<A> source, MemorySegment destination) {
    return new ToSegment<>(source, destination);
  }

  /**
   * A transfer of an array to a buffer.
   *
   * @param source the array
   * @param destination the buffer, filled from its front
   */
  record FromArray<A>(A source, UnifiedBuffer<A> destination) implements Transfer<A> {
    /** Checks that no component is null. */
    public FromArray {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }

  /**
   * A transfer of a buffer to an array.
   *
   * @param source the buffer
   * @param destination the array, filled from its front
   */
  record ToArray<A>(UnifiedBuffer<A> source, A destination) implements Transfer<A> {
    /** Checks that no component is null. */
    public ToArray {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }

  /**
   * A transfer of a buffer to a buffer.
   *
   * @param source the buffer that is read
   * @param destination the buffer that is filled from its front
   */
  record BetweenBuffers<A>(UnifiedBuffer<A> source, UnifiedBuffer<A> destination)
      implements Transfer<A> {
    /** Checks that no component is null. */
    public BetweenBuffers {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }

  /**
   * A transfer of a segment to a buffer.
   *
   * @param source the segment
   * @param destination the buffer, filled from its front
   */
  record FromSegment<A>(MemorySegment source, UnifiedBuffer<A> destination) implements Transfer<A> {
    /** Checks that no component is null. */
    public FromSegment {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }

  /**
   * A transfer of a buffer to a segment.
   *
   * @param source the buffer
   * @param destination the segment, filled from its front
   */
  record ToSegment<A>(UnifiedBuffer<A> source, MemorySegment destination) implements Transfer<A> {
    /** Checks that no component is null. */
    public ToSegment {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }
}
