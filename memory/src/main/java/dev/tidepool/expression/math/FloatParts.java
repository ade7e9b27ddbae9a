package dev.tidepool.expression.math;

import java.lang.foreign.MemorySegment;

/**
 * Buffers for splitting floats and for building powers of two. C2 does not vectorise the
 * reinterpretation of single values, but copying a block between a float and an int array costs
 * almost nothing.
 */
public final class FloatParts {
  /** The bits of the root of a half, the least float whose exponent is 0 after {@link #split}. */
  private static final int ROOT_HALF = 0x3f3504f3;

  /** The mantissas of a block after {@link #split}, between the roots of a half and of two. */
  public final float[] values;

  /** Room for values that need more than a float. */
  public final double[] doubles;

  /** The bits of powers of two, for {@link #scale}. */
  public final int[] bits;

  private final MemorySegment valuesSegment;
  private final MemorySegment bitsSegment;

  public FloatParts(int block) {
    values = new float[block];
    doubles = new double[block];
    bits = new int[block];
    valuesSegment = MemorySegment.ofArray(values);
    bitsSegment = MemorySegment.ofArray(bits);
  }

  /**
   * Splits a block into {@link #values} and exponents of two.
   *
   * @return whether all were positive, normal and finite; the parts of others are undefined
   */
  public boolean split(MemorySegment floats, float[] exponents, int n) {
    MemorySegment.copy(floats, 0, bitsSegment, 0, 4L * n);
    int special = split(bits, exponents, n);
    MemorySegment.copy(bitsSegment, 0, valuesSegment, 0, 4L * n);
    return special >= 0;
  }

  /** Multiplies a block by the floats whose bits are in {@link #bits}. */
  public void scale(float[] factors, int n) {
    MemorySegment.copy(bitsSegment, 0, valuesSegment, 0, 4L * n);
    scale(values, factors, n);
  }

  private static void scale(float[] powers, float[] factors, int n) {
    for (int i = 0; i < n; i++) {
      factors[i] *= powers[i];
    }
  }

  private static int split(int[] bits, float[] exponents, int n) {
    int special = 0;
    for (int i = 0; i < n; i++) {
      int b = bits[i];
      int exponent = (b - ROOT_HALF) >> 23;
      special |= (b - 0x00800000) | (0x7f7fffff - b);
      exponents[i] = exponent;
      bits[i] = b - (exponent << 23);
    }
    return special;
  }
}
