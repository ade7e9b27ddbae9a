package dev.tidepool.host;

import java.lang.constant.ConstantDescs;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;
import org.jspecify.annotations.Nullable;

/** The template of reductions by vectors, loaded by {@link VectorLoops} with its constants. */
final class VectorFold implements VectorLoops.FoldLoop {
  /** Lanes of one vector: four such vectors are the lanes of a reduction. */
  static final int VECTOR = Reductions.LANES / 4;

  /**
   * What one reduction is.
   *
   * @param from vectors of the elements
   * @param to vectors that accumulate, of longs or doubles
   * @param fold what is done with each element
   */
  record Constants(VectorSpecies<?> from, VectorSpecies<?> to, VectorOperators.Associative fold) {}

  private static final VectorSpecies<?> FROM;
  private static final VectorSpecies<?> TO;
  private static final boolean SAME;
  private static final boolean DOUBLES;
  private static final VectorOperators.Associative FOLD;
  private static final ByteOrder ORDER = ByteOrder.nativeOrder();

  static {
    try {
      Constants constants =
          MethodHandles.classData(
              MethodHandles.lookup(), ConstantDescs.DEFAULT_NAME, Constants.class);
      FROM = constants.from();
      TO = constants.to();
      SAME = FROM.equals(TO);
      DOUBLES = TO.elementType() == double.class;
      FOLD = constants.fold();
    } catch (IllegalAccessException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @Override
  public long run(
      MemorySegment left, @Nullable MemorySegment right, long first, long count, Object lanes) {
    long whole = count - count % Reductions.LANES;
    int step = FROM.vectorByteSize();
    long start = first * step / VECTOR;
    long end = start + whole * step / VECTOR;
    if (right == null) {
      for (long at = start; at < end; at += 4L * step) {
        fold(lanes, 0, read(left, at));
        fold(lanes, VECTOR, read(left, at + step));
        fold(lanes, 2 * VECTOR, read(left, at + 2L * step));
        fold(lanes, 3 * VECTOR, read(left, at + 3L * step));
      }
    } else {
      for (long at = start; at < end; at += 4L * step) {
        fold(lanes, 0, product(left, right, at));
        fold(lanes, VECTOR, product(left, right, at + step));
        fold(lanes, 2 * VECTOR, product(left, right, at + 2L * step));
        fold(lanes, 3 * VECTOR, product(left, right, at + 3L * step));
      }
    }
    return whole;
  }

  /**
   * Lanes live in the array: a vector that goes round a loop has, for the compiler, only an
   * abstract type at its end, and would become an object in every round.
   */
  private static void fold(Object lanes, int index, Vector<?> values) {
    Vector<?> folded = fold(TO.fromArray(lanes, index), values);
    if (DOUBLES) {
      ((DoubleVector) folded).intoArray((double[]) lanes, index);
    } else {
      ((LongVector) folded).intoArray((long[]) lanes, index);
    }
  }

  private static Vector<?> read(MemorySegment segment, long offset) {
    Vector<?> elements = FROM.fromMemorySegment(segment, offset, ORDER);
    return SAME ? elements : elements.castShape(TO, 0);
  }

  private static Vector<?> product(MemorySegment left, MemorySegment right, long offset) {
    return multiply(read(left, offset), read(right, offset));
  }

  @SuppressWarnings("unchecked") // both have lanes of TO
  private static <E> Vector<E> multiply(Vector<E> left, Vector<?> right) {
    return left.mul((Vector<E>) right);
  }

  @SuppressWarnings("unchecked") // both have lanes of TO
  private static <E> Vector<E> fold(Vector<E> left, Vector<?> right) {
    return left.lanewise(FOLD, (Vector<E>) right);
  }
}
