package dev.tidepool.host;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.List;

/**
 * Moves members between structs and columns, block by block, so that each byte of memory is touched
 * once: a block of structs is copied to the heap whole, its members are spread there, in the first
 * cache, and each column's part is copied out whole, or the way back.
 *
 * <p>Used by one thread.
 */
final class ColumnMoves {
  private static final int BLOCK_BYTES = 8 << 10;
  private static final VarHandle SHORTS = view(short[].class);
  private static final VarHandle INTS = view(int[].class);
  private static final VarHandle LONGS = view(long[].class);

  private final int structBytes;
  private final List<StructFields.Member> members;
  private final long count;
  private final int blockLength;
  private final byte[] structs;
  private final byte[] column;

  /** For {@code count} structs, whose checks were done. */
  ColumnMoves(long structBytes, List<StructFields.Member> members, long count) {
    this.structBytes = Math.toIntExact(structBytes);
    this.members = members;
    this.count = count;
    this.blockLength = (int) Math.min(count, Math.max(1, BLOCK_BYTES / structBytes));
    this.structs = new byte[blockLength * this.structBytes];
    this.column = new byte[structs.length];
  }

  private static VarHandle view(Class<?> arrayClass) {
    return MethodHandles.byteArrayViewVarHandle(arrayClass, ByteOrder.nativeOrder());
  }

  void split(MemorySegment source, MemorySegment[] columns) {
    for (long at = 0; at < count; at += blockLength) {
      int length = (int) Math.min(blockLength, count - at);
      read(source, at * structBytes, structs, length * structBytes);
      for (int i = 0; i < columns.length; i++) {
        int bytes = (int) members.get(i).bytes();
        int offset = (int) members.get(i).offset();
        move(bytes, structs, offset, structBytes, column, 0, bytes, length);
        write(column, length * bytes, columns[i], at * bytes);
      }
    }
  }

  /** The way back of {@link #split}; bytes between members stay as they are. */
  void join(MemorySegment[] columns, MemorySegment target) {
    boolean padded = members.stream().mapToLong(StructFields.Member::bytes).sum() != structBytes;
    for (long at = 0; at < count; at += blockLength) {
      int length = (int) Math.min(blockLength, count - at);
      if (padded) {
        read(target, at * structBytes, structs, length * structBytes);
      }
      for (int i = 0; i < columns.length; i++) {
        int bytes = (int) members.get(i).bytes();
        int offset = (int) members.get(i).offset();
        read(columns[i], at * bytes, column, length * bytes);
        move(bytes, column, 0, bytes, structs, offset, structBytes, length);
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

  /** Moves elements of so many bytes each from one distance to another. */
  private static void move(
      int bytes,
      byte[] source,
      int from,
      int sourceStride,
      byte[] target,
      int to,
      int targetStride,
      int count) {
    switch (bytes) {
      case Byte.BYTES -> {
        for (int i = 0; i < count; i++) {
          target[to + i * targetStride] = source[from + i * sourceStride];
        }
      }
      case Short.BYTES -> {
        for (int i = 0; i < count; i++) {
          short element = (short) SHORTS.get(source, from + i * sourceStride);
          SHORTS.set(target, to + i * targetStride, element);
        }
      }
      case Integer.BYTES -> {
        for (int i = 0; i < count; i++) {
          int element = (int) INTS.get(source, from + i * sourceStride);
          INTS.set(target, to + i * targetStride, element);
        }
      }
      case Long.BYTES -> {
        for (int i = 0; i < count; i++) {
          long element = (long) LONGS.get(source, from + i * sourceStride);
          LONGS.set(target, to + i * targetStride, element);
        }
      }
      default -> {
        for (int i = 0; i < count; i++) {
          System.arraycopy(source, from + i * sourceStride, target, to + i * targetStride, bytes);
        }
      }
    }
  }
}
