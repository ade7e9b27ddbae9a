package dev.tidepool.host.operations;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.List;

/**
 * Moves members between structs and columns, block by block, so that each byte of memory is
 * accessed once. A split copies a block of structs to the heap, moves each member to a block of its
 * column in the first-level cache, and copies that block out. A join does the reverse.
 *
 * <p>Used by one thread.
 */
final class SoaCopy {
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

  /** Creates the copy of {@code count} structs, for which the caller has made all checks. */
  SoaCopy(long structBytes, List<StructFields.Member> members, long count) {
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

  /** Copies structs to columns. */
  void split(MemorySegment source, MemorySegment[] columns) {
    for (long at = 0; at < count; at += blockLength) {
      int length = (int) Math.min(blockLength, count - at);
      read(source, at * structBytes, structs, length * structBytes);
      for (int i = 0; i < columns.length; i++) {
        int bytes = (int) members.get(i).bytes();
        int offset = (int) members.get(i).offset();
        toColumn(bytes, offset, length);
        write(column, length * bytes, columns[i], at * bytes);
      }
    }
  }

  /** Copies columns to structs. Bytes between members are not changed. */
  void join(MemorySegment[] columns, MemorySegment target) {
    boolean padded = !StructFields.fill(structBytes, members);
    for (long at = 0; at < count; at += blockLength) {
      int length = (int) Math.min(blockLength, count - at);
      if (padded) {
        read(target, at * structBytes, structs, length * structBytes);
      }
      for (int i = 0; i < columns.length; i++) {
        int bytes = (int) members.get(i).bytes();
        int offset = (int) members.get(i).offset();
        read(columns[i], at * bytes, column, length * bytes);
        toStructs(bytes, offset, length);
      }
      write(structs, length * structBytes, target, at * structBytes);
    }
  }

  /** Moves one member from the block of structs to the block of its column. */
  private void toColumn(int bytes, int offset, int length) {
    switch (bytes) {
      case Byte.BYTES -> bytesToColumn(structs, offset, structBytes, column, length);
      case Short.BYTES -> shortsToColumn(structs, offset, structBytes, column, length);
      case Integer.BYTES -> intsToColumn(structs, offset, structBytes, column, length);
      case Long.BYTES -> longsToColumn(structs, offset, structBytes, column, length);
      default -> {
        for (int i = 0, from = offset; i < length; i++, from += structBytes) {
          System.arraycopy(structs, from, column, i * bytes, bytes);
        }
      }
    }
  }

  /** Moves the block of one column to its member in the block of structs. */
  private void toStructs(int bytes, int offset, int length) {
    switch (bytes) {
      case Byte.BYTES -> bytesToStructs(column, structs, offset, structBytes, length);
      case Short.BYTES -> shortsToStructs(column, structs, offset, structBytes, length);
      case Integer.BYTES -> intsToStructs(column, structs, offset, structBytes, length);
      case Long.BYTES -> longsToStructs(column, structs, offset, structBytes, length);
      default -> {
        for (int i = 0, to = offset; i < length; i++, to += structBytes) {
          System.arraycopy(column, i * bytes, structs, to, bytes);
        }
      }
    }
  }

  // Each loop is a separate method, so that C2 compiles it separately.

  private static void bytesToColumn(
      byte[] structs, int offset, int stride, byte[] column, int length) {
    for (int i = 0, from = offset; i < length; i++, from += stride) {
      column[i] = structs[from];
    }
  }

  private static void shortsToColumn(
      byte[] structs, int offset, int stride, byte[] column, int length) {
    for (int i = 0, from = offset; i < length; i++, from += stride) {
      SHORTS.set(column, i * Short.BYTES, (short) SHORTS.get(structs, from));
    }
  }

  private static void intsToColumn(
      byte[] structs, int offset, int stride, byte[] column, int length) {
    for (int i = 0, from = offset; i < length; i++, from += stride) {
      INTS.set(column, i * Integer.BYTES, (int) INTS.get(structs, from));
    }
  }

  private static void longsToColumn(
      byte[] structs, int offset, int stride, byte[] column, int length) {
    for (int i = 0, from = offset; i < length; i++, from += stride) {
      LONGS.set(column, i * Long.BYTES, (long) LONGS.get(structs, from));
    }
  }

  private static void bytesToStructs(
      byte[] column, byte[] structs, int offset, int stride, int length) {
    for (int i = 0, to = offset; i < length; i++, to += stride) {
      structs[to] = column[i];
    }
  }

  private static void shortsToStructs(
      byte[] column, byte[] structs, int offset, int stride, int length) {
    for (int i = 0, to = offset; i < length; i++, to += stride) {
      SHORTS.set(structs, to, (short) SHORTS.get(column, i * Short.BYTES));
    }
  }

  private static void intsToStructs(
      byte[] column, byte[] structs, int offset, int stride, int length) {
    for (int i = 0, to = offset; i < length; i++, to += stride) {
      INTS.set(structs, to, (int) INTS.get(column, i * Integer.BYTES));
    }
  }

  private static void longsToStructs(
      byte[] column, byte[] structs, int offset, int stride, int length) {
    for (int i = 0, to = offset; i < length; i++, to += stride) {
      LONGS.set(structs, to, (long) LONGS.get(column, i * Long.BYTES));
    }
  }

  private static void read(MemorySegment source, long offset, byte[] block, int bytes) {
    MemorySegment.copy(source, ValueLayout.JAVA_BYTE, offset, block, 0, bytes);
  }

  private static void write(byte[] block, int bytes, MemorySegment target, long offset) {
    MemorySegment.copy(block, 0, target, ValueLayout.JAVA_BYTE, offset, bytes);
  }
}
