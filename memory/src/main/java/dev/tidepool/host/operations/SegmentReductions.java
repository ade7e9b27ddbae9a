package dev.tidepool.host.operations;

import dev.tidepool.ElementType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reduces all elements to one value, in a fixed order.
 *
 * <p>Elements are converted to doubles or longs. Blocks of {@value #BLOCK} doubles are reduced in
 * {@value #LANES} lanes, element i in lane i modulo {@value #LANES}. The lanes are reduced by
 * halves, lane i with lane i + 8, then i + 4, and so on. The blocks are reduced pairwise,
 * neighbours first, like the carries of a binary counter. So the rounding error of a sum of n
 * doubles is at most {@code (BLOCK / LANES + 4 + log2(n / BLOCK)) * 2^-53} of the sum of magnitudes
 * (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
 */
public final class SegmentReductions {
  private static final int BLOCK = 4096;
  private static final int LANES = 16;

  /** The number of elements that are copied to the heap at a time. */
  private static final int CHUNK = 2048;

  /** The operation on two values. */
  public enum Fold {
    SUM(0, 0),
    MIN(Double.POSITIVE_INFINITY, Long.MAX_VALUE),
    MAX(Double.NEGATIVE_INFINITY, Long.MIN_VALUE);

    /** The neutral element of the operation. */
    private final double neutralDouble;

    private final long neutralLong;

    Fold(double neutralDouble, long neutralLong) {
      this.neutralDouble = neutralDouble;
      this.neutralLong = neutralLong;
    }

    private double apply(double left, double right) {
      return switch (this) {
        case SUM -> left + right;
        case MIN -> Math.min(left, right);
        case MAX -> Math.max(left, right);
      };
    }
  }

  private SegmentReductions() {}

  /** Reduces the elements of {@code left}, multiplied by those of {@code right} if present. */
  public static double ofDoubles(
      Fold fold, ElementType<?> type, MemorySegment left, @Nullable MemorySegment right) {
    PrimitiveType primitive = floating(type);
    long count = elements(fold, primitive, left, right);
    return OperandChecks.answering(
        left, right == null ? left : right, () -> ofDoubles(fold, primitive, left, right, count));
  }

  /** Reduces the elements of {@code left}, multiplied by those of {@code right} if present. */
  public static long ofLongs(
      Fold fold, ElementType<?> type, MemorySegment left, @Nullable MemorySegment right) {
    PrimitiveType primitive = integral(type);
    long count = elements(fold, primitive, left, right);
    return OperandChecks.answering(
        left, right == null ? left : right, () -> ofLongs(fold, primitive, left, right, count));
  }

  private static PrimitiveType floating(ElementType<?> type) {
    PrimitiveType primitive = PrimitiveType.of(type);
    if (!primitive.isFloating()) {
      throw new IllegalArgumentException(
          type + " elements are reduced to a long, without loss: use the method that ends AsLong");
    }
    return primitive;
  }

  private static PrimitiveType integral(ElementType<?> type) {
    PrimitiveType primitive = PrimitiveType.of(type);
    if (primitive.isFloating()) {
      throw new IllegalArgumentException(
          type + " elements are reduced to a double: use the method that does not end AsLong");
    }
    return primitive;
  }

  private static long elements(
      Fold fold, PrimitiveType type, MemorySegment left, @Nullable MemorySegment right) {
    OperandChecks.readable("segment", left);
    if (right != null) {
      OperandChecks.readable("right segment", right);
      if (left.byteSize() != right.byteSize()) {
        throw new IllegalArgumentException(
            "the factors have %s and %s bytes, but must have as many elements"
                .formatted(left.byteSize(), right.byteSize()));
      }
    }
    if (fold != Fold.SUM && left.byteSize() == 0) {
      throw new IllegalArgumentException("an empty segment has no least or greatest element");
    }
    return OperandChecks.elements("segment", left, type.bytes());
  }

  private static double ofDoubles(
      Fold fold,
      PrimitiveType type,
      MemorySegment left,
      @Nullable MemorySegment right,
      long count) {
    DoubleBlock block = new DoubleBlock(fold, type, left, right);
    double[] partial = new double[Long.SIZE];
    long blocks = 0;
    double[] lanes = new double[LANES];
    for (long at = 0; at < count; at += BLOCK) {
      int length = (int) Math.min(BLOCK, count - at);
      Arrays.fill(lanes, fold.neutralDouble);
      double value = block.fold(lanes, at, length);
      int level = 0;
      for (; (blocks >>> level & 1) != 0; level++) {
        value = fold.apply(partial[level], value);
      }
      partial[level] = value;
      blocks++;
    }
    double result = fold.neutralDouble;
    for (int level = 0; level < Long.SIZE; level++) {
      if ((blocks >>> level & 1) != 0) {
        result = fold.apply(partial[level], result);
      }
    }
    return result;
  }

  private static long ofLongs(
      Fold fold,
      PrimitiveType type,
      MemorySegment left,
      @Nullable MemorySegment right,
      long count) {
    int block = (int) Math.min(CHUNK, count);
    Conversions.Way way = new Conversions.Way(type, PrimitiveType.LONG, block);
    long[] values = new long[block];
    long[] factors = new long[right == null ? 0 : block];
    long result = fold.neutralLong;
    for (long at = 0; at < count; at += block) {
      int length = (int) Math.min(block, count - at);
      way.read(left, at, values, length);
      if (right != null) {
        way.read(right, at, factors, length);
        for (int i = 0; i < length; i++) {
          values[i] *= factors[i];
        }
      }
      result = intoOne(fold, result, values, length);
    }
    return result;
  }

  private static long intoOne(Fold fold, long start, long[] values, int count) {
    long result = start;
    switch (fold) {
      case SUM -> {
        for (int i = 0; i < count; i++) {
          result += values[i];
        }
      }
      case MIN -> {
        for (int i = 0; i < count; i++) {
          result = Math.min(result, values[i]);
        }
      }
      case MAX -> {
        for (int i = 0; i < count; i++) {
          result = Math.max(result, values[i]);
        }
      }
    }
    return result;
  }

  /** Reduces the elements of a block. */
  private static final class DoubleBlock {
    private final Fold fold;
    private final MemorySegment left;
    private final @Nullable MemorySegment right;
    private final Conversions.Way way;
    private final double[] values = new double[CHUNK];
    private final double[] factors;

    DoubleBlock(Fold fold, PrimitiveType type, MemorySegment left, @Nullable MemorySegment right) {
      this.fold = fold;
      this.left = left;
      this.right = right;
      this.way = new Conversions.Way(type, PrimitiveType.DOUBLE, CHUNK);
      this.factors = new double[right == null ? 0 : CHUNK];
    }

    /** Returns the reduction of a block's elements. {@code lanes} hold neutral values at first. */
    double fold(double[] lanes, long first, int count) {
      for (int at = 0; at < count; at += values.length) {
        int length = Math.min(values.length, count - at);
        way.read(left, first + at, values, length);
        if (right != null) {
          way.read(right, first + at, factors, length);
          for (int i = 0; i < length; i++) {
            values[i] *= factors[i];
          }
        }
        intoLanes(fold, lanes, values, length);
      }
      for (int half = LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
          lanes[i] = fold.apply(lanes[i], lanes[i + half]);
        }
      }
      return lanes[0];
    }

    private static void intoLanes(Fold fold, double[] lanes, double[] values, int length) {
      int whole = length - length % LANES;
      switch (fold) {
        case SUM -> {
          addToEight(lanes, 0, values, whole);
          addToEight(lanes, LANES / 2, values, whole);
        }
        case MIN -> {
          for (int i = 0; i < whole; i += LANES) {
            for (int j = 0; j < LANES; j++) {
              lanes[j] = Math.min(lanes[j], values[i + j]);
            }
          }
        }
        case MAX -> {
          for (int i = 0; i < whole; i += LANES) {
            for (int j = 0; j < LANES; j++) {
              lanes[j] = Math.max(lanes[j], values[i + j]);
            }
          }
        }
      }
      for (int i = whole; i < length; i++) {
        lanes[i - whole] = fold.apply(lanes[i - whole], values[i]);
      }
    }

    /**
     * Adds to eight lanes, from number {@code first} on. They are local variables, because C2 would
     * load and store elements of an array in each step, which takes twice the time.
     */
    private static void addToEight(double[] lanes, int first, double[] values, int whole) {
      double a = lanes[first];
      double b = lanes[first + 1];
      double c = lanes[first + 2];
      double d = lanes[first + 3];
      double e = lanes[first + 4];
      double f = lanes[first + 5];
      double g = lanes[first + 6];
      double h = lanes[first + 7];
      for (int i = first; i < whole; i += LANES) {
        a += values[i];
        b += values[i + 1];
        c += values[i + 2];
        d += values[i + 3];
        e += values[i + 4];
        f += values[i + 5];
        g += values[i + 6];
        h += values[i + 7];
      }
      lanes[first] = a;
      lanes[first + 1] = b;
      lanes[first + 2] = c;
      lanes[first + 3] = d;
      lanes[first + 4] = e;
      lanes[first + 5] = f;
      lanes[first + 6] = g;
      lanes[first + 7] = h;
    }
  }
}
