package dev.tidepool.host;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Segment loops without the Vector API, by direct buffers, which end with their segments, as
 * safely. Only structs and columns gain; all else is as fast through blocks of the heap.
 */
final class BufferLoops implements SegmentLoops {
  private final WordTransposition transposition = new WordTransposition();

  @Override
  public long convert(
      Primitive from, MemorySegment source, Primitive to, MemorySegment target, long count) {
    return 0;
  }

  @Override
  public long swapBytes(Primitive type, MemorySegment source, MemorySegment target, long count) {
    return 0;
  }

  /** A part of a segment, of at most 1 GiB. */
  static ByteBuffer bytes(MemorySegment segment, long offset, long bytes) {
    return segment.asSlice(offset, bytes).asByteBuffer().order(ByteOrder.nativeOrder());
  }

  @Override
  public long fold(
      Fold fold,
      Primitive type,
      MemorySegment left,
      @Nullable MemorySegment right,
      long first,
      long count,
      Object lanes) {
    return 0;
  }

  @Override
  public long split(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment structs,
      MemorySegment[] columns,
      long count) {
    return transposition.move(structBytes, members, structs, columns, count, false);
  }

  @Override
  public long join(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment[] columns,
      MemorySegment structs,
      long count) {
    return transposition.move(structBytes, members, structs, columns, count, true);
  }
}
