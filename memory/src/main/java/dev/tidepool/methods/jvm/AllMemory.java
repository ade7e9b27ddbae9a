package dev.tidepool.methods.jvm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Accesses elements of arrays in native memory that cannot be freed during the access, by the
 * address and length of the array. An index outside of the array throws a {@link KernelFault} at a
 * site of the kernel.
 *
 * <p>A segment or buffer tests at each access whether its arena is open and which thread owns it.
 * HotSpot moves these tests out of loops only as long as the process has used no other kinds of
 * arenas and buffers. Otherwise a kernel with nine loads in a condition takes three times as long.
 * A constant segment of the global scope never needs these tests.
 */
final class AllMemory {
  /** All memory from address 0 on; empty if this process may not use native memory. */
  private static final MemorySegment ALL = all();

  private AllMemory() {}

  @SuppressWarnings("restricted")
  private static MemorySegment all() {
    try {
      return MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    } catch (IllegalCallerException e) {
      return MemorySegment.NULL;
    }
  }

  /** Returns whether this process may access elements by address. */
  static boolean isUsable() {
    return ALL.byteSize() > 0;
  }

  /**
   * Tests an index by the method whose test HotSpot moves out of loops.
   *
   * @param site the site of the fault; {@link KernelFault#NOWHERE} if the index is known to be
   *     inside
   */
  private static int checked(int index, int length, int site) {
    try {
      return Objects.checkIndex(index, length);
    } catch (IndexOutOfBoundsException e) {
      throw KernelFault.index(index, length, site);
    }
  }

  static byte getByte(long address, int index, int length, int site) {
    return ALL.get(JAVA_BYTE, address + checked(index, length, site));
  }

  static short getShort(long address, int index, int length, int site) {
    return ALL.get(JAVA_SHORT_UNALIGNED, address + ((long) checked(index, length, site) << 1));
  }

  static int getInt(long address, int index, int length, int site) {
    return ALL.get(JAVA_INT_UNALIGNED, address + ((long) checked(index, length, site) << 2));
  }

  static long getLong(long address, int index, int length, int site) {
    return ALL.get(JAVA_LONG_UNALIGNED, address + ((long) checked(index, length, site) << 3));
  }

  static float getFloat(long address, int index, int length, int site) {
    return ALL.get(JAVA_FLOAT_UNALIGNED, address + ((long) checked(index, length, site) << 2));
  }

  static double getDouble(long address, int index, int length, int site) {
    return ALL.get(JAVA_DOUBLE_UNALIGNED, address + ((long) checked(index, length, site) << 3));
  }

  static void put(long address, int index, int length, int site, byte value) {
    ALL.set(JAVA_BYTE, address + checked(index, length, site), value);
  }

  static void put(long address, int index, int length, int site, short value) {
    long offset = (long) checked(index, length, site) << 1;
    ALL.set(JAVA_SHORT_UNALIGNED, address + offset, value);
  }

  static void put(long address, int index, int length, int site, int value) {
    long offset = (long) checked(index, length, site) << 2;
    ALL.set(JAVA_INT_UNALIGNED, address + offset, value);
  }

  static void put(long address, int index, int length, int site, long value) {
    long offset = (long) checked(index, length, site) << 3;
    ALL.set(JAVA_LONG_UNALIGNED, address + offset, value);
  }

  static void put(long address, int index, int length, int site, float value) {
    long offset = (long) checked(index, length, site) << 2;
    ALL.set(JAVA_FLOAT_UNALIGNED, address + offset, value);
  }

  static void put(long address, int index, int length, int site, double value) {
    long offset = (long) checked(index, length, site) << 3;
    ALL.set(JAVA_DOUBLE_UNALIGNED, address + offset, value);
  }
}
