package dev.tidepool.host;

import java.lang.constant.ConstantDescs;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import java.util.Arrays;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorSpecies;

/**
 * The template of loops that choose the elements of a vector from several others, two at a time,
 * loaded by {@link VectorTransposition} with its constants.
 */
final class VectorChoice implements VectorTransposition.Choice {
  /** Vectors that one may be chosen from. */
  static final int MOST_SOURCES = 8;

  /**
   * What is chosen.
   *
   * @param species of all vectors
   * @param count of sources
   * @param sources for each lane, which of them its element comes from
   * @param elements for each lane, which lane of that source
   */
  @SuppressWarnings("ArrayRecordComponent") // read once, by the template
  record Constants(VectorSpecies<?> species, int count, int[] sources, int[] elements) {}

  private static final VectorSpecies<?> SPECIES;
  private static final int SOURCES;
  private static final ByteOrder ORDER = ByteOrder.nativeOrder();
  // One field for each pair of sources: elements of an array would not be constants.
  private static final Vector<?> PLACES_0;
  private static final Vector<?> PLACES_1;
  private static final Vector<?> PLACES_2;
  private static final Vector<?> PLACES_3;
  private static final VectorMask<?> FROM_1;
  private static final VectorMask<?> FROM_2;
  private static final VectorMask<?> FROM_3;

  static {
    try {
      Constants constants =
          MethodHandles.classData(
              MethodHandles.lookup(), ConstantDescs.DEFAULT_NAME, Constants.class);
      SPECIES = constants.species();
      SOURCES = constants.count();
      PLACES_0 = places(constants, 0);
      PLACES_1 = places(constants, 1);
      PLACES_2 = places(constants, 2);
      PLACES_3 = places(constants, 3);
      FROM_1 = from(constants, 1);
      FROM_2 = from(constants, 2);
      FROM_3 = from(constants, 3);
    } catch (IllegalAccessException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** For each lane that comes from a pair of sources, the place among the elements of both. */
  private static Vector<?> places(Constants constants, int pair) {
    int lanes = SPECIES.length();
    long[] places = new long[lanes];
    for (int lane = 0; lane < lanes; lane++) {
      int source = constants.sources()[lane];
      if (source / 2 == pair) {
        places[lane] = source % 2 * (long) lanes + constants.elements()[lane];
      }
    }
    if (SPECIES.elementType() == long.class) {
      return SPECIES.fromArray(places, 0);
    }
    return SPECIES.fromArray(Arrays.stream(places).mapToInt(Math::toIntExact).toArray(), 0);
  }

  /** The lanes that come from a pair of sources. */
  private static VectorMask<?> from(Constants constants, int pair) {
    long mask = 0;
    for (int lane = 0; lane < SPECIES.length(); lane++) {
      if (constants.sources()[lane] / 2 == pair) {
        mask |= 1L << lane;
      }
    }
    return VectorMask.fromLong(SPECIES, mask);
  }

  @Override
  public void run(
      MemorySegment[] sources,
      long sourceStep,
      MemorySegment target,
      long targetStep,
      long from,
      long to) {
    MemorySegment source0 = sources[0];
    MemorySegment source1 = SOURCES > 1 ? sources[1] : source0;
    MemorySegment source2 = SOURCES > 2 ? sources[2] : source0;
    MemorySegment source3 = SOURCES > 3 ? sources[3] : source2;
    MemorySegment source4 = SOURCES > 4 ? sources[4] : source0;
    MemorySegment source5 = SOURCES > 5 ? sources[5] : source4;
    MemorySegment source6 = SOURCES > 6 ? sources[6] : source0;
    MemorySegment source7 = SOURCES > 7 ? sources[7] : source6;
    for (long i = from; i < to; i++) {
      long at = i * sourceStep;
      Vector<?> chosen = choose(PLACES_0, source0, source1, at);
      if (SOURCES > 2) {
        chosen = blend(chosen, choose(PLACES_1, source2, source3, at), FROM_1);
      }
      if (SOURCES > 4) {
        chosen = blend(chosen, choose(PLACES_2, source4, source5, at), FROM_2);
      }
      if (SOURCES > 6) {
        chosen = blend(chosen, choose(PLACES_3, source6, source7, at), FROM_3);
      }
      chosen.intoMemorySegment(target, i * targetStep, ORDER);
    }
  }

  private static Vector<?> choose(
      Vector<?> places, MemorySegment left, MemorySegment right, long at) {
    return select(
        places,
        SPECIES.fromMemorySegment(left, at, ORDER),
        SPECIES.fromMemorySegment(right, at, ORDER));
  }

  @SuppressWarnings("unchecked") // all have lanes of the species
  private static <E> Vector<E> select(Vector<E> places, Vector<?> left, Vector<?> right) {
    return places.selectFrom((Vector<E>) left, (Vector<E>) right);
  }

  @SuppressWarnings("unchecked") // all have lanes of the species
  private static <E> Vector<E> blend(Vector<E> left, Vector<?> right, VectorMask<?> fromRight) {
    return left.blend((Vector<E>) right, (VectorMask<E>) fromRight);
  }
}
