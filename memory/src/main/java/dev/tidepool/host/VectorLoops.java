package dev.tidepool.host;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorOperators.Associative;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;
import org.jspecify.annotations.Nullable;

/**
 * Segment loops by the incubating Vector API. Loaded only where its module is in the boot layer:
 * programs that start with {@code --add-modules jdk.incubator.vector}.
 *
 * <p>Vector code is fast only if types and operators are constants. So there is one template for
 * all elementwise loops ({@link VectorMap}) and one for all reductions ({@link VectorFold}), loaded
 * once more, as a hidden class with its own constants, for each loop that is asked for.
 *
 * <p>Until the compiler has seen a loop it is slower than any other way, so a few elements are left
 * to the blocks of the heap.
 */
final class VectorLoops implements SegmentLoops {
  private static final long FEWEST_ELEMENTS = 256;

  /** An elementwise loop. */
  interface ElementLoop {
    /** Does elements from the front, as many as fill whole vectors; how many. */
    long run(MemorySegment source, MemorySegment target, long count);
  }

  /** A reduction. */
  interface FoldLoop {
    /** See {@link SegmentLoops#fold}. */
    long run(
        MemorySegment left, @Nullable MemorySegment right, long first, long count, Object lanes);
  }

  private record Conversion(Primitive from, Primitive to) {}

  private record Reduction(Fold fold, Primitive type, boolean dot) {}

  private static final ElementLoop NO_LOOP = (source, target, count) -> 0;

  private final int vectorBits = VectorShape.preferredShape().vectorBitSize();
  private final SegmentLoops words = new WordTransposition();
  private final VectorTransposition transposition = new VectorTransposition(vectorBits);
  private final Map<Conversion, ElementLoop> conversions = new ConcurrentHashMap<>();
  private final Map<Primitive, ElementLoop> swaps = new ConcurrentHashMap<>();
  private final Map<Reduction, FoldLoop> folds = new ConcurrentHashMap<>();

  private VectorLoops() {}

  /** Others where vectors are so short that these do as well. */
  static SegmentLoops ofThisProcessor() {
    VectorLoops loops = new VectorLoops();
    return loops.vectorBits < VectorShape.S_256_BIT.vectorBitSize() ? loops.words : loops;
  }

  @Override
  public long convert(
      Primitive from, MemorySegment source, Primitive to, MemorySegment target, long count) {
    if (count < FEWEST_ELEMENTS || from == Primitive.BOOLEAN || to == Primitive.BOOLEAN) {
      return 0;
    }
    return conversions
        .computeIfAbsent(new Conversion(from, to), this::conversionLoop)
        .run(source, target, count);
  }

  @Override
  public long swapBytes(Primitive type, MemorySegment source, MemorySegment target, long count) {
    if (count < FEWEST_ELEMENTS) {
      return 0;
    }
    return swaps.computeIfAbsent(type, this::swapLoop).run(source, target, count);
  }

  @Override
  public long fold(
      Fold fold,
      Primitive type,
      MemorySegment left,
      @Nullable MemorySegment right,
      long first,
      long count,
      Object lanes) {
    // Bytes and shorts would not fill a vector of four.
    if (count < FEWEST_ELEMENTS || type.bytes() < Integer.BYTES) {
      return 0;
    }
    return folds
        .computeIfAbsent(new Reduction(fold, type, right != null), VectorLoops::foldLoop)
        .run(left, right, first, count, lanes);
  }

  @Override
  public long move(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment structs,
      MemorySegment[] columns,
      long count,
      boolean joins) {
    long done = transposition.move(structBytes, members, structs, columns, count, joins);
    return done > 0 ? done : words.move(structBytes, members, structs, columns, count, joins);
  }

  private ElementLoop conversionLoop(Conversion conversion) {
    int lanes = vectorBits / Byte.SIZE / Math.max(conversion.from.bytes(), conversion.to.bytes());
    int narrow = Math.min(conversion.from.bytes(), conversion.to.bytes());
    if (lanes * narrow * Byte.SIZE < VectorShape.S_64_BIT.vectorBitSize()) {
      return NO_LOOP;
    }
    return Template.specialise(
        VectorMap.class,
        ElementLoop.class,
        new VectorMap.Constants(species(conversion.from, lanes), species(conversion.to, lanes)));
  }

  private ElementLoop swapLoop(Primitive type) {
    VectorSpecies<?> species = species(type, vectorBits / Byte.SIZE / type.bytes());
    return Template.specialise(
        VectorMap.class, ElementLoop.class, new VectorMap.Constants(species, species));
  }

  private static FoldLoop foldLoop(Reduction reduction) {
    Primitive accumulator = reduction.type.isFloating() ? Primitive.DOUBLE : Primitive.LONG;
    Associative operator =
        switch (reduction.fold) {
          case SUM -> VectorOperators.ADD;
          case MIN -> VectorOperators.MIN;
          case MAX -> VectorOperators.MAX;
        };
    return Template.specialise(
        VectorFold.class,
        FoldLoop.class,
        new VectorFold.Constants(
            species(reduction.type, VectorFold.VECTOR),
            species(accumulator, VectorFold.VECTOR),
            operator));
  }

  private static VectorSpecies<?> species(Primitive type, int lanes) {
    return VectorSpecies.of(
        type.elementClass(), VectorShape.forBitSize(lanes * type.bytes() * Byte.SIZE));
  }
}
