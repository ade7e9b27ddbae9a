package dev.tidepool.host;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Loops that work on segments where they lie. Each does as many elements from the front as it can,
 * and says how many; whoever calls does the rest through blocks of the heap, with the same results
 * bit for bit. So a loop that a processor lacks is a loop that does nothing.
 */
interface SegmentLoops {
  /** Converts elements; how many it did. */
  default long convert(
      Primitive from, MemorySegment source, Primitive to, MemorySegment target, long count) {
    return 0;
  }

  /** Swaps the bytes of shorts, ints or longs; how many elements it did. */
  default long swapBytes(Primitive type, MemorySegment source, MemorySegment target, long count) {
    return 0;
  }

  /**
   * Folds elements into {@link Reductions#LANES} lanes, element {@code first + i} into lane {@code
   * i} modulo their number.
   *
   * @param right what elements are multiplied with; null for none
   * @param lanes where each lane stands, doubles for floating-point elements, else longs; updated
   * @return how many elements it did, a multiple of the number of lanes
   */
  default long fold(
      Fold fold,
      Primitive type,
      MemorySegment left,
      @Nullable MemorySegment right,
      long first,
      long count,
      Object lanes) {
    return 0;
  }

  /**
   * Fills columns from structs, or makes structs from columns, if these hold all bytes of them.
   *
   * @param joins whether structs are made
   * @return how many structs it did
   */
  default long move(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment structs,
      MemorySegment[] columns,
      long count,
      boolean joins) {
    return 0;
  }

  /** Does nothing. */
  SegmentLoops NONE = new SegmentLoops() {};

  /** The loops of this virtual machine. */
  final class Installed {
    static final SegmentLoops LOOPS =
        ModuleLayer.boot()
            .findModule("jdk.incubator.vector")
            .map(Installed::reading)
            .orElseGet(WordTransposition::new);

    private Installed() {}

    /** Not a `requires`, which would warn whoever compiles against this module. */
    private static SegmentLoops reading(Module vectors) {
      Installed.class.getModule().addReads(vectors);
      return VectorLoops.ofThisProcessor();
    }
  }

  /** What may touch a segment's bytes. */
  static SegmentLoops of(MemorySegment segment) {
    return inPlace(segment) ? Installed.LOOPS : NONE;
  }

  /** What may touch the bytes of both segments. */
  static SegmentLoops of(MemorySegment left, MemorySegment right) {
    return inPlace(left) && inPlace(right) ? Installed.LOOPS : NONE;
  }

  /** What may touch the bytes of structs and of all columns. */
  static SegmentLoops of(MemorySegment structs, MemorySegment[] columns) {
    return Arrays.stream(columns).allMatch(SegmentLoops::inPlace) ? of(structs) : NONE;
  }

  /**
   * Only own memory, whose bytes cannot vanish: a vector instruction would end the process.
   * Segments of the heap would make the loops slower for all others, for they would have several
   * kinds to tell apart.
   */
  private static boolean inPlace(MemorySegment segment) {
    return OwnMemory.contains(segment);
  }
}
