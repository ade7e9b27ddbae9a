package dev.tidepool.host.operations;

import dev.tidepool.TransferException;
import dev.tidepool.host.system.TruncatedMapCheck;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * Checks the segments of an operation once, before anything is written. Also converts the virtual
 * machine's error for vanished bytes to an exception of this library.
 */
public final class OperandChecks {
  private OperandChecks() {}

  /** Checks that the calling thread can read the segment now. */
  public static void readable(String name, MemorySegment segment) {
    Objects.requireNonNull(segment, name);
    if (!segment.scope().isAlive()) {
      throw new IllegalStateException(
          "the " + name + " is closed: its arena or buffer ended before this operation");
    }
    if (!segment.isAccessibleBy(Thread.currentThread())) {
      throw new WrongThreadException(
          "the " + name + " belongs to another thread: use a shared arena or a shared mapping");
    }
  }

  /** Checks that the calling thread can write the segment now. */
  public static void writable(String name, MemorySegment segment) {
    readable(name, segment);
    if (segment.isReadOnly()) {
      throw new IllegalArgumentException(
          "the " + name + " of " + segment.byteSize() + " bytes is read-only");
    }
  }

  /** Returns the number of elements in a segment. Checks that they are whole. */
  public static long elements(String name, MemorySegment segment, long elementBytes) {
    long bytes = segment.byteSize();
    if (bytes % elementBytes != 0) {
      throw new IllegalArgumentException(
          "the %s has %s bytes, which is no multiple of an element's %s"
              .formatted(name, bytes, elementBytes));
    }
    return bytes / elementBytes;
  }

  /** Checks that a range lies within a segment. */
  public static void range(String name, MemorySegment segment, long offset, long bytes) {
    if (offset < 0 || bytes < 0 || offset > segment.byteSize() - bytes) {
      throw new IndexOutOfBoundsException(
          "%s bytes at offset %s are not within the %s of %s bytes"
              .formatted(bytes, offset, name, segment.byteSize()));
    }
  }

  /** Checks that {@code count} elements fit at the front of a segment. */
  public static void fits(String name, MemorySegment segment, long count, long elementBytes) {
    if (count > segment.byteSize() / elementBytes) {
      throw new IndexOutOfBoundsException(
          "%s elements of %s bytes do not fit into the %s of %s bytes"
              .formatted(count, elementBytes, name, segment.byteSize()));
    }
  }

  /** Checks that two segments do not overlap. One of them is written. */
  public static void apart(MemorySegment left, MemorySegment right) {
    if (left.asOverlappingSlice(right).isPresent()) {
      throw new IllegalArgumentException(
          "segments of %s and %s bytes overlap, and this operation does not write in the order it reads: give it a destination of its own"
              .formatted(left.byteSize(), right.byteSize()));
    }
  }

  /** Checks that the segments that are read and written are the same bytes or do not overlap. */
  public static void apartOrSame(MemorySegment read, MemorySegment written) {
    if (!(read.address() == written.address()
        && read.byteSize() == written.byteSize()
        && read.heapBase().equals(written.heapBase()))) {
      apart(read, written);
    }
  }

  /** Returns the first bytes of a segment, which must have as many. */
  public static MemorySegment front(MemorySegment segment, long bytes) {
    return segment.asSlice(0, bytes);
  }

  /** Checks that elements of this size can be moved from one segment to another. */
  static void movable(long elementBytes, MemorySegment source, MemorySegment destination) {
    if (elementBytes <= 0) {
      throw new IllegalArgumentException(
          "elements have " + elementBytes + " bytes, but need one at least");
    }
    readable("source", source);
    writable("destination", destination);
  }

  /** Runs work that accesses the bytes of two segments, which may be the same. */
  public static void touching(MemorySegment left, MemorySegment right, Runnable work) {
    answering(
        left,
        right,
        () -> {
          work.run();
          return true;
        });
  }

  /**
   * Returns the result of work that accesses the bytes of two segments, which may be the same.
   *
   * @throws TransferException if bytes vanished
   */
  public static <T> T answering(MemorySegment left, MemorySegment right, Supplier<T> work) {
    try {
      T answer = work.get();
      TruncatedMapCheck.surface(left, right);
      return answer;
    } catch (InternalError e) {
      throw new TransferException(
          "bytes vanished: a mapped file became shorter, or its disk failed; map it again", e);
    }
  }
}
