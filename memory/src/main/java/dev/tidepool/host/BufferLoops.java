package dev.tidepool.host;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Segment loops without the Vector API, by direct buffers, which end with their segments, as
 * safely. Only structs and columns gain; all else is as fast through blocks of the heap.
 */
final class BufferLoops implements SegmentLoops {
  private final WordTransposition transposition = new WordTransposition();

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
