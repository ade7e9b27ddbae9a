package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.Map;

/**
 * A sink that keeps one value of all elements, or counts of them, and not the elements. What comes
 * of it depends on the elements alone: not on chunks, nor on the order in which they come.
 *
 * <p>Threads: ranges are folded on the threads that bring them and joined under the sink's monitor.
 * Every range comes once.
 */
abstract class Reducer implements ElementSink {
  final ScalarType type;
  private final long length;

  Reducer(ScalarType type, long length) {
    this.type = type;
    this.length = length;
  }

  /**
   * What folds as a reduction says.
   *
   * @param type of the elements
   * @param length number of elements
   * @param scalars values of the names in its settings
   * @throws IllegalArgumentException if there is no element and the result needs one, or a setting
   *     is out of range
   */
  static Reducer of(Reduction reduction, ScalarType type, long length, Map<String, ?> scalars) {
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
      case HISTOGRAM -> Histogram.of(reduction, type, length, scalars);
    };
  }

  @Override
  public final ElementType<?> elementType() {
    return type.elementType();
  }

  @Override
  public final long length() {
    return length;
  }

  /** Folds a range. */
  @Override
  public abstract void write(long elementOffset, MemorySegment source);

  /** The result, once all elements came: a boxed value of NumPy's type, or a {@code long[]}. */
  abstract Object value();

  /** The integer whose low 64 bits are these, in the box that carries its type. */
  static Object boxed(long bits, ScalarType type) {
    if (type == ScalarType.BOOL) {
      return bits != 0;
    }
    boolean wide = type == ScalarType.UINT64;
    return wide ? (Object) new BigInteger(Long.toUnsignedString(bits)) : (Object) bits;
  }

  /** The real number in the box that carries its type. */
  static Object boxed(double value, ScalarType type) {
    return type == ScalarType.FLOAT32 ? (Object) (float) value : (Object) value;
  }
}
