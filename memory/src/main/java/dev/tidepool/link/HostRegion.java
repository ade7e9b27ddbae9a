package dev.tidepool.link;

import dev.tidepool.ElementType;
import dev.tidepool.host.system.TruncatedMapCheck;
import dev.tidepool.spi.support.SegmentAccess;
import java.lang.foreign.MemorySegment;

/** Bytes of the host that a transfer reads or writes: a segment, or a range of an array. */
public sealed interface HostRegion {
  /** The bytes of one copy that stay in a processor's cache. */
  long CACHED = 1 << 20;

  /** Returns the number of bytes. */
  long byteSize();

  /** Copies a range to a segment. {@code offset} and the segment's size are whole elements. */
  void copyTo(long offset, MemorySegment target);

  /**
   * Copies a range to a staging block like {@link #copyTo}, but leaves the bytes in the cache, from
   * which the device's copy reads faster. HotSpot bypasses the cache when it copies more than 2.5
   * MiB.
   */
  default void stage(long offset, MemorySegment staged) {
    long part = Math.max(granule(), CACHED - CACHED % granule());
    for (long at = 0; at < staged.byteSize(); at += part) {
      copyTo(offset + at, staged.asSlice(at, Math.min(part, staged.byteSize() - at)));
    }
  }

  /** Copies a range from a segment. {@code offset} and the segment's size are whole elements. */
  void copyFrom(MemorySegment source, long offset);

  /** Returns the bytes of one element, which chunks do not cut. */
  long granule();

  /** Returns whether threads other than the caller may access the bytes. */
  default boolean isForAllThreads() {
    return true;
  }

  /**
   * A segment.
   *
   * @param segment the bytes
   * @param direct whether drivers may access it directly: native memory of the library that lives
   *     until the transfer ends
   */
  record Segment(MemorySegment segment, boolean direct) implements HostRegion {
    @Override
    public long byteSize() {
      return segment.byteSize();
    }

    @Override
    public void copyTo(long offset, MemorySegment target) {
      MemorySegment.copy(segment, offset, target, 0, target.byteSize());
      TruncatedMapCheck.surface(segment, target);
    }

    @Override
    public void copyFrom(MemorySegment source, long offset) {
      MemorySegment.copy(source, 0, segment, offset, source.byteSize());
      TruncatedMapCheck.surface(segment, source);
    }

    @Override
    public long granule() {
      return 1;
    }

    @Override
    public boolean isForAllThreads() {
      return SegmentAccess.isForAllThreads(segment);
    }
  }

  /**
   * A range of an array.
   *
   * @param type the type of the elements
   * @param array the array
   * @param start the index of the first element
   * @param count the number of elements
   */
  record Elements<A>(ElementType<A> type, A array, int start, int count) implements HostRegion {
    @Override
    public long byteSize() {
      return count * type.byteSize();
    }

    @Override
    public void copyTo(long offset, MemorySegment target) {
      type.write(array, index(offset), target, 0, elements(target));
      TruncatedMapCheck.surface(target, target);
    }

    @Override
    public void copyFrom(MemorySegment source, long offset) {
      type.read(source, 0, array, index(offset), elements(source));
      TruncatedMapCheck.surface(source, source);
    }

    @Override
    public long granule() {
      return type.byteSize();
    }

    private int index(long offset) {
      return start + Math.toIntExact(offset / type.byteSize());
    }

    private int elements(MemorySegment segment) {
      return Math.toIntExact(segment.byteSize() / type.byteSize());
    }
  }
}
