package dev.tidepool.host;

import java.lang.constant.ConstantDescs;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** The template of elementwise vector loops, loaded by {@link VectorLoops} with its constants. */
final class VectorMap implements VectorLoops.ElementLoop {
  /**
   * What one loop is.
   *
   * @param from vectors of the source
   * @param to vectors of the target, with as many lanes; lanes are cast, or if they have one type
   *     their bytes are swapped
   */
  record Constants(VectorSpecies<?> from, VectorSpecies<?> to) {}

  private static final VectorSpecies<?> FROM;
  private static final VectorSpecies<?> TO;
  private static final boolean SAME;
  private static final ByteOrder ORDER = ByteOrder.nativeOrder();

  static {
    try {
      Constants constants =
          MethodHandles.classData(
              MethodHandles.lookup(), ConstantDescs.DEFAULT_NAME, Constants.class);
      FROM = constants.from();
      TO = constants.to();
      SAME = FROM.equals(TO);
    } catch (IllegalAccessException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @Override
  public long run(MemorySegment source, MemorySegment target, long count) {
    long whole = count - count % FROM.length();
    long targetOffset = 0;
    for (long offset = 0; offset < whole * FROM.elementSize() / Byte.SIZE; ) {
      Vector<?> vector = FROM.fromMemorySegment(source, offset, ORDER);
      Vector<?> result =
          SAME ? vector.lanewise(VectorOperators.REVERSE_BYTES) : vector.castShape(TO, 0);
      result.intoMemorySegment(target, targetOffset, ORDER);
      offset += FROM.vectorByteSize();
      targetOffset += TO.vectorByteSize();
    }
    return whole;
  }
}
