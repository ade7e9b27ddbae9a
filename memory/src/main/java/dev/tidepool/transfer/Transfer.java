package dev.tidepool.transfer;

import dev.tidepool.UnifiedBuffer;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * One pair of a list of transfers: all of a source goes to the front of a destination. Use slices
 * to pass a part of a buffer or segment. The compiler checks that the element types of both sides
 * agree. All else is checked when the pair's turn comes, so a bad pair fails alone.
 *
 * <p>Arrays and segments must stay untouched until the transfer is done; segments must be ones that
 * all threads may access.
 *
 * @param <A> the Java array that carries elements
 */
public sealed interface Transfer<A> {
  /** All of an array to the front of a buffer; see {@link UnifiedBuffer#copyFrom(Object)}. */
  static <A> Transfer<A> of(A source, UnifiedBuffer<A> destination) {
    return new FromArray<>(source, destination);
  }

  /** All of a buffer to the front of an array; see {@link UnifiedBuffer#copyTo(Object)}. */
  static <A> Transfer<A> of(UnifiedBuffer<A> source, A destination) {
    return new ToArray<>(source, destination);
  }

  /** All of a buffer to the front of another. The two must not overlap. */
  static <A> Transfer<A> of(UnifiedBuffer<A> source, UnifiedBuffer<A> destination) {
    return new BetweenBuffers<>(source, destination);
  }

  /** All of a segment, of whole elements, to the front of a buffer. */
  static <A> Transfer<A> of(MemorySegment source, UnifiedBuffer<A> destination) {
    return new FromSegment<>(source, destination);
  }

  /** All of a buffer to the front of a segment. */
  static <A> Transfer<A> of(UnifiedBuffer<A> source, MemorySegment destination) {
    return new ToSegment<>(source, destination);
  }

  /**
   * An array to a buffer.
   *
   * @param source all of it
   * @param destination at its front
   */
  record FromArray<A>(A source, UnifiedBuffer<A> destination) implements Transfer<A> {
    /** Checks that both are there. */
    public FromArray {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }

  /**
   * A buffer to an array.
   *
   * @param source all of it
   * @param destination at its front
   */
  record ToArray<A>(UnifiedBuffer<A> source, A destination) implements Transfer<A> {
    /** Checks that both are there. */
    public ToArray {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }

  /**
   * A buffer to a buffer.
   *
   * @param source all of it
   * @param destination at its front
   */
  record BetweenBuffers<A>(UnifiedBuffer<A> source, UnifiedBuffer<A> destination)
      implements Transfer<A> {
    /** Checks that both are there. */
    public BetweenBuffers {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }

  /**
   * A segment to a buffer.
   *
   * @param source all of it
   * @param destination at its front
   */
  record FromSegment<A>(MemorySegment source, UnifiedBuffer<A> destination) implements Transfer<A> {
    /** Checks that both are there. */
    public FromSegment {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }

  /**
   * A buffer to a segment.
   *
   * @param source all of it
   * @param destination at its front
   */
  record ToSegment<A>(UnifiedBuffer<A> source, MemorySegment destination) implements Transfer<A> {
    /** Checks that both are there. */
    public ToSegment {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(destination, "destination");
    }
  }
}
