package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.ScalarType;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Keeps one value of all elements, or counts of them, and not the elements. The value depends on
 * the elements alone: not on the ranges, nor on the order in which they come.
 *
 * <p>Threads: a range is folded on the thread that brings it and joined under this object's
 * monitor.
 */
public abstract class Reducer implements RangeConsumer {
  final ScalarType type;
  final long length;

  Reducer(ScalarType type, long length) {
    this.type = type;
    this.length = length;
  }

  /**
   * Returns the reducer for a reduction.
   *
   * @param type the type of the elements
   * @param length the number of elements
   * @param scalars the values of the names in the reduction's settings
   * @throws IllegalArgumentException if there is no element and the result needs one, or a setting
   *     is out of range
   */
  public static Reducer of(
      Reduction reduction, ScalarType type, long length, Map<String, ?> scalars) {
    ScalarType result = reduction.resultType(type);
    return switch (reduction.kind()) {
      case SUM ->
          type.isFloating()
              ? new PairwiseSum(type, length, result, false)
              : new IntegerSum(type, length, result);
      case MEAN -> new PairwiseSum(type, length, result, true);
      case MIN, MAX -> {
        if (length == 0) {
          throw new IllegalArgumentException(
              "'"
                  + reduction.name()
                  + "': "
                  + reduction.kind().functionName()
                  + " of no elements has no value; give it arrays that are not empty");
        }
        yield new MinMax(type, length, reduction.kind() == Reduction.Kind.MAX);
      }
      case HISTOGRAM -> Histogram.counting(reduction, type, length, scalars);
    };
  }

  /**
   * Returns the result, once all elements came: a boxed value of NumPy's type, or a {@code long[]}.
   */
  public abstract Object value();

  /** Returns the results, once all elements came. */
  public static Map<String, Object> values(Map<String, Reducer> reducers) {
    Map<String, Object> values = new LinkedHashMap<>();
    reducers.forEach((name, reducer) -> values.put(name, reducer.value()));
    return values;
  }

  /** The integer whose low 64 bits are these, in the box that carries its type. */
  static Object boxed(long bits, ScalarType type) {
    if (type == ScalarType.BOOL) {
      return bits != 0;
    }
    boolean wide = type == ScalarType.UINT64;
    return wide ? (Object) new BigInteger(Long.toUnsignedString(bits)) : (Object) bits;
  }

  /** Returns the real number in the box that carries its type. */
  static Object boxed(double value, ScalarType type) {
    return type == ScalarType.FLOAT32 ? (Object) (float) value : (Object) value;
  }
}
