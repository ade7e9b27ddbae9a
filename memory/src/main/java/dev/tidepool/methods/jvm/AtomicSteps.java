package dev.tidepool.methods.jvm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * Atomic operations on elements of arguments, which return the previous value. The elements are
 * aligned.
 *
 * <p>The methods for arrays on the heap are for memory that the items of one group share; these
 * items run on one thread.
 */
final class AtomicSteps {
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

  private AtomicSteps() {}

  static int add(MemorySegment array, int index, int value) {
    return (int) INT.getAndAdd(array, (long) index << 2, value);
  }

  static long add(MemorySegment array, int index, long value) {
    return (long) LONG.getAndAdd(array, (long) index << 3, value);
  }

  static float add(MemorySegment array, int index, float value) {
    long at = (long) index << 2;
    int bits = (int) INT.getVolatile(array, at);
    while (true) {
      int changed = Float.floatToRawIntBits(Float.intBitsToFloat(bits) + value);
      int seen = (int) INT.compareAndExchange(array, at, bits, changed);
      if (seen == bits) {
        return Float.intBitsToFloat(bits);
      }
      bits = seen;
    }
  }

  static double add(MemorySegment array, int index, double value) {
    long at = (long) index << 3;
    long bits = (long) LONG.getVolatile(array, at);
    while (true) {
      long changed = Double.doubleToRawLongBits(Double.longBitsToDouble(bits) + value);
      long seen = (long) LONG.compareAndExchange(array, at, bits, changed);
      if (seen == bits) {
        return Double.longBitsToDouble(bits);
      }
      bits = seen;
    }
  }

  static int min(MemorySegment array, int index, int value) {
    int before = (int) INT.getVolatile(array, (long) index << 2);
    while (value < before) {
      int seen = (int) INT.compareAndExchange(array, (long) index << 2, before, value);
      if (seen == before) {
        break;
      }
      before = seen;
    }
    return before;
  }

  static int max(MemorySegment array, int index, int value) {
    int before = (int) INT.getVolatile(array, (long) index << 2);
    while (value > before) {
      int seen = (int) INT.compareAndExchange(array, (long) index << 2, before, value);
      if (seen == before) {
        break;
      }
      before = seen;
    }
    return before;
  }

  static long min(MemorySegment array, int index, long value) {
    long before = (long) LONG.getVolatile(array, (long) index << 3);
    while (value < before) {
      long seen = (long) LONG.compareAndExchange(array, (long) index << 3, before, value);
      if (seen == before) {
        break;
      }
      before = seen;
    }
    return before;
  }

  static long max(MemorySegment array, int index, long value) {
    long before = (long) LONG.getVolatile(array, (long) index << 3);
    while (value > before) {
      long seen = (long) LONG.compareAndExchange(array, (long) index << 3, before, value);
      if (seen == before) {
        break;
      }
      before = seen;
    }
    return before;
  }

  static int compareAndSet(MemorySegment array, int index, int expected, int value) {
    return (int) INT.compareAndExchange(array, (long) index << 2, expected, value);
  }

  static long compareAndSet(MemorySegment array, int index, long expected, long value) {
    return (long) LONG.compareAndExchange(array, (long) index << 3, expected, value);
  }

  static int add(int[] array, int index, int value) {
    int before = array[index];
    array[index] = before + value;
    return before;
  }

  static long add(long[] array, int index, long value) {
    long before = array[index];
    array[index] = before + value;
    return before;
  }

  static float add(float[] array, int index, float value) {
    float before = array[index];
    array[index] = before + value;
    return before;
  }

  static double add(double[] array, int index, double value) {
    double before = array[index];
    array[index] = before + value;
    return before;
  }

  static int min(int[] array, int index, int value) {
    int before = array[index];
    array[index] = Math.min(before, value);
    return before;
  }

  static int max(int[] array, int index, int value) {
    int before = array[index];
    array[index] = Math.max(before, value);
    return before;
  }

  static long min(long[] array, int index, long value) {
    long before = array[index];
    array[index] = Math.min(before, value);
    return before;
  }

  static long max(long[] array, int index, long value) {
    long before = array[index];
    array[index] = Math.max(before, value);
    return before;
  }

  static int compareAndSet(int[] array, int index, int expected, int value) {
    int before = array[index];
    array[index] = before == expected ? value : before;
    return before;
  }

  static long compareAndSet(long[] array, int index, long expected, long value) {
    long before = array[index];
    array[index] = before == expected ? value : before;
    return before;
  }
}
