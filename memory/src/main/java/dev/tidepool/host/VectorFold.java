package dev.tidepool.host;

import java.lang.constant.ConstantDescs;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
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
      FOLD = constants.fold();
    } catch (IllegalAccessException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @Override
  public long run(
      MemorySegment left, @Nullable MemorySegment right, long first, long count, long[] lanes) {
    Vector<?> a = load(lanes, 0);
    Vector<?> b = load(lanes, VECTOR);
    Vector<?> c = load(lanes, 2 * VECTOR);
    Vector<?> d = load(lanes, 3 * VECTOR);
    long whole = count - count % Reductions.LANES;
    int step = FROM.vectorByteSize();
    long start = first * step / VECTOR;
    long end = start + whole * step / VECTOR;
    if (right == null) {
      for (long at = start; at < end; at += 4L * step) {
        a = fold(a, read(left, at));
        b = fold(b, read(left, at + step));
        c = fold(c, read(left, at + 2L * step));
        d = fold(d, read(left, at + 3L * step));
      }
    } else {
      for (long at = start; at < end; at += 4L * step) {
        a = fold(a, product(left, right, at));
        b = fold(b, product(left, right, at + step));
        c = fold(c, product(left, right, at + 2L * step));
        d = fold(d, product(left, right, at + 3L * step));
      }
    }
    a.reinterpretAsLongs().intoArray(lanes, 0);
    b.reinterpretAsLongs().intoArray(lanes, VECTOR);
    c.reinterpretAsLongs().intoArray(lanes, 2 * VECTOR);
    d.reinterpretAsLongs().intoArray(lanes, 3 * VECTOR);
    return whole;
  }

  private static Vector<?> load(long[] lanes, int index) {
    return LongVector.fromArray(LongVector.SPECIES_256, lanes, index).reinterpretShape(TO, 0);
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
