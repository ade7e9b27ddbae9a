package dev.tidepool.methods.jvm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;

/**
 * Accesses elements of arrays in memory that may be released during the access, such as a mapped
 * file; the segment tests that. The segment has exactly the bytes of the array. An index outside of
 * the array throws a {@link KernelFault} at a site of the kernel.
 */
final class ForeignMemory {
  private ForeignMemory() {}

  /** Returns the fault of an access whose index is outside of the array. */
  private static KernelFault outside(MemorySegment array, int index, int shift, int site) {
    return KernelFault.index(index, (int) (array.byteSize() >> shift), site);
  }

  static byte getByte(MemorySegment array, int index, int site) {
    try {
      return array.get(JAVA_BYTE, index);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 0, site);
    }
  }

  static short getShort(MemorySegment array, int index, int site) {
    try {
      return array.get(JAVA_SHORT_UNALIGNED, (long) index << 1);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 1, site);
    }
  }

  static int getInt(MemorySegment array, int index, int site) {
    try {
      return array.get(JAVA_INT_UNALIGNED, (long) index << 2);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 2, site);
    }
  }

  static long getLong(MemorySegment array, int index, int site) {
    try {
      return array.get(JAVA_LONG_UNALIGNED, (long) index << 3);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 3, site);
    }
  }

  static float getFloat(MemorySegment array, int index, int site) {
    try {
      return array.get(JAVA_FLOAT_UNALIGNED, (long) index << 2);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 2, site);
    }
  }

  static double getDouble(MemorySegment array, int index, int site) {
    try {
      return array.get(JAVA_DOUBLE_UNALIGNED, (long) index << 3);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 3, site);
    }
  }

  static void put(MemorySegment array, int index, int site, byte value) {
    try {
      array.set(JAVA_BYTE, index, value);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 0, site);
    }
  }

  static void put(MemorySegment array, int index, int site, short value) {
    try {
      array.set(JAVA_SHORT_UNALIGNED, (long) index << 1, value);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 1, site);
    }
  }

  static void put(MemorySegment array, int index, int site, int value) {
    try {
      array.set(JAVA_INT_UNALIGNED, (long) index << 2, value);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 2, site);
    }
  }

  static void put(MemorySegment array, int index, int site, long value) {
    try {
      array.set(JAVA_LONG_UNALIGNED, (long) index << 3, value);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 3, site);
    }
  }

  static void put(MemorySegment array, int index, int site, float value) {
    try {
      array.set(JAVA_FLOAT_UNALIGNED, (long) index << 2, value);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 2, site);
    }
  }

  static void put(MemorySegment array, int index, int site, double value) {
    try {
      array.set(JAVA_DOUBLE_UNALIGNED, (long) index << 3, value);
    } catch (IndexOutOfBoundsException e) {
      throw outside(array, index, 3, site);
    }
  }
}
