package dev.tidepool.interop;

import java.util.Arrays;
import java.util.stream.IntStream;

/** Arithmetic with shapes and strides. Strides are in elements. */
final class Shapes {
  private Shapes() {}

  /**
   * Returns the number of elements.
   *
   * @throws IllegalArgumentException if a dimension is negative, or the number exceeds 64 bits
   */
  static long count(long[] shape) {
    for (long size : shape) {
      if (size < 0) {
        throw new IllegalArgumentException(
            "shape " + Arrays.toString(shape) + " has a dimension of negative size");
      }
    }
    if (isEmpty(shape)) {
      return 0;
    }
    try {
      return Arrays.stream(shape).reduce(1, Math::multiplyExact);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "shape " + Arrays.toString(shape) + " has more elements than 64 bits can count", e);
    }
  }

  /** Returns whether a dimension has the size 0, independent of the others. */
  private static boolean isEmpty(long[] shape) {
    return Arrays.stream(shape).anyMatch(size -> size == 0);
  }

  static void checkCount(long[] shape, long expected) {
    long count = count(shape);
    if (count != expected) {
      throw new IllegalArgumentException(
          "shape "
              + Arrays.toString(shape)
              + " has "
              + count
              + " elements, and the buffer has "
              + expected
              + "; give a slice of the buffer, or another shape");
    }
  }

  /**
   * Returns the strides of a shape whose last dimension varies fastest. A stride that exceeds 64
   * bits occurs only in a shape without elements, whose strides are never used; it is replaced by
   * that of the next dimension.
   */
  static long[] rowMajor(long[] shape) {
    long[] strides = new long[shape.length];
    long stride = 1;
    for (int i = shape.length - 1; i >= 0; i--) {
      strides[i] = stride;
      long size = Math.max(1, shape[i]);
      stride = stride > Long.MAX_VALUE / size ? stride : stride * size;
    }
    return strides;
  }

  /** Returns whether the elements are contiguous in row-major order. */
  static boolean isRowMajor(long[] shape, long[] strides) {
    if (count(shape) == 0) {
      return true;
    }
    long[] expected = rowMajor(shape);
    return IntStream.range(0, shape.length)
        .allMatch(i -> shape[i] == 1 || strides[i] == expected[i]);
  }

  /** Returns whether the elements are contiguous, each once, in some order of the dimensions. */
  static boolean isDense(long[] shape, long[] strides) {
    if (count(shape) == 0) {
      return true;
    }
    int[] order =
        IntStream.range(0, shape.length)
            .filter(i -> shape[i] > 1)
            .boxed()
            .sorted((a, b) -> Long.compare(strides[a], strides[b]))
            .mapToInt(i -> i)
            .toArray();
    long stride = 1;
    for (int i : order) {
      if (strides[i] != stride) {
        return false;
      }
      stride *= shape[i];
    }
    return true;
  }

  /** Returns the lowest offset of an element from the first one, 0 or less. */
  static long lowest(long[] shape, long[] strides) {
    long lowest = 0;
    for (int i = 0; i < shape.length; i++) {
      lowest = Math.addExact(lowest, Math.min(0, Math.multiplyExact(shape[i] - 1, strides[i])));
    }
    return lowest;
  }

  /** Returns the highest offset of an element from the first one, 0 or more. */
  static long highest(long[] shape, long[] strides) {
    long highest = 0;
    for (int i = 0; i < shape.length; i++) {
      highest = Math.addExact(highest, Math.max(0, Math.multiplyExact(shape[i] - 1, strides[i])));
    }
    return highest;
  }
}
