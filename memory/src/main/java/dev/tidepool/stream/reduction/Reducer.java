package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.ScalarType;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Reduces all elements to one value, or to counts. The result depends only on the elements, not on
 * the ranges or their order.
 *
 * <p>Threads: the thread that brings a range folds it, and joins it under this object's monitor.
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

  /** Returns the integer with these low 64 bits, in the box of its type. */
  static Object boxed(long bits, ScalarType type) {
    if (type == ScalarType.BOOL) {
      return bits != 0;
    }
    boolean wide = type == ScalarType.UINT64;
    return wide ? (Object) new BigInteger(Long.toUnsignedString(bits)) : (Object) bits;
  }

  /** Returns the real number in the box of its type. */
  static Object boxed(double value, ScalarType type) {
    return type == ScalarType.FLOAT32 ? (Object) (float) value : (Object) value;
  }
}
