package dev.tidepool.host;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Moves members between structs and columns, block by block, so that each byte of memory is touched
 * once: a block of structs is copied to the heap whole, its members are spread there, in the first
 * cache, and each column's part is copied out whole, or the way back. What vectors can do where it
 * lies is left to them.
 *
 * <p>Used by one thread.
 */
final class ColumnMoves {
  private static final int BLOCK_BYTES = 8 << 10;

  /** By the size of a struct. Structs are records, so there are not many. */
  private static final Map<Integer, Loops> LOOPS = new ConcurrentHashMap<>();

  /** Moves one member of the structs of a block to or from a block of its own. */
  interface Loops {
    /**
     * Fills a column.
     *
     * @param bytes of the member
     * @param offset of the member in its struct
     */
    void split(int bytes, byte[] structs, int offset, byte[] column, int count);

    /** The way back of {@link #split}; other bytes of the structs stay as they are. */
    void join(int bytes, byte[] column, byte[] structs, int offset, int count);
  }

  private final int structBytes;
  private final List<StructFields.Member> members;
  private final long count;
  private final Loops loops;
  private final int blockLength;
  private final byte[] structs;
  private final byte[] column;

  /** For {@code count} structs, whose checks were done. */
  ColumnMoves(long structBytes, List<StructFields.Member> members, long count) {
    this.structBytes = Math.toIntExact(structBytes);
    this.members = members;
    this.count = count;
    this.loops =
        LOOPS.computeIfAbsent(
            this.structBytes,
            stride -> Template.specialise(StridedMoves.class, Loops.class, stride));
    this.blockLength = (int) Math.min(count, Math.max(1, BLOCK_BYTES / structBytes));
    this.structs = new byte[blockLength * this.structBytes];
    this.column = new byte[structs.length];
  }

  void split(MemorySegment source, MemorySegment[] columns) {
    long first =
        SegmentLoops.of(source, columns).move(structBytes, members, source, columns, count, false);
    for (long at = first; at < count; at += blockLength) {
      int length = (int) Math.min(blockLength, count - at);
      read(source, at * structBytes, structs, length * structBytes);
      for (int i = 0; i < columns.length; i++) {
        int bytes = (int) members.get(i).bytes();
        int offset = (int) members.get(i).offset();
        loops.split(bytes, structs, offset, column, length);
        write(column, length * bytes, columns[i], at * bytes);
      }
    }
  }

  /** The way back of {@link #split}; bytes between members stay as they are. */
  void join(MemorySegment[] columns, MemorySegment target) {
    long first =
        SegmentLoops.of(target, columns).move(structBytes, members, target, columns, count, true);
    boolean padded = !StructFields.fill(structBytes, members);
    for (long at = first; at < count; at += blockLength) {
      int length = (int) Math.min(blockLength, count - at);
      if (padded) {
        read(target, at * structBytes, structs, length * structBytes);
      }
      for (int i = 0; i < columns.length; i++) {
        int bytes = (int) members.get(i).bytes();
        int offset = (int) members.get(i).offset();
        read(columns[i], at * bytes, column, length * bytes);
        loops.join(bytes, column, structs, offset, length);
      }
      write(structs, length * structBytes, target, at * structBytes);
    }
  }

  private static void read(MemorySegment source, long offset, byte[] block, int bytes) {
    MemorySegment.copy(source, ValueLayout.JAVA_BYTE, offset, block, 0, bytes);
  }

  private static void write(byte[] block, int bytes, MemorySegment target, long offset) {
    MemorySegment.copy(block, 0, target, ValueLayout.JAVA_BYTE, offset, bytes);
  }
}
