package dev.tidepool.link;

import dev.tidepool.ElementType;
import dev.tidepool.host.system.TruncatedMapCheck;
import dev.tidepool.spi.support.SegmentAccess;
import java.lang.foreign.MemorySegment;

/**
 * Bytes of the host that a transfer reads or fills: a segment, or a range of an array of elements.
 */
public sealed interface HostRegion {
  /** Bytes that one copy leaves in a processor's cache. */
  long CACHED = 1 << 20;

  /** Returns how many. */
  long byteSize();

  /** Copies some of them to a segment; {@code offset} and the segment's size are whole elements. */
  void copyTo(long offset, MemorySegment target);

  /**
   * Copies some of them to a staging block as {@link #copyTo} does, but leaves them in the cache,
   * from which the device's copy reads faster a moment later: HotSpot copies more than 2.5 MiB past
   * it.
   */
  default void stage(long offset, MemorySegment staged) {
    long part = Math.max(granule(), CACHED - CACHED % granule());
    for (long at = 0; at < staged.byteSize(); at += part) {
      copyTo(offset + at, staged.asSlice(at, Math.min(part, staged.byteSize() - at)));
    }
  }

  /** Sets some of them from a segment; {@code offset} and the segment's size are whole elements. */
  void copyFrom(MemorySegment source, long offset);

  /** Bytes of one element, which chunks do not cut. */
  long granule();

  /** Returns whether threads other than the caller may access them. */
  default boolean isForAllThreads() {
    return true;
  }

  /**
   * A segment.
   *
   * @param segment the bytes
   * @param direct whether drivers may use it where it lies: native memory of the library's own that
   *     lives until the transfer is done
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
   * @param type what the elements are
   * @param array the array
   * @param start the index of the first element
   * @param count how many
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
