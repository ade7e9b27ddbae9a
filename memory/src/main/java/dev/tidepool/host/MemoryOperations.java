package dev.tidepool.host;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import dev.tidepool.host.operations.Comparisons;
import dev.tidepool.host.operations.Conversions;
import dev.tidepool.host.operations.Fills;
import dev.tidepool.host.operations.GatherScatter;
import dev.tidepool.host.operations.Indices;
import dev.tidepool.host.operations.OperandChecks;
import dev.tidepool.host.operations.PrimitiveType;
import dev.tidepool.host.operations.SegmentReductions;
import dev.tidepool.host.operations.SegmentReductions.Fold;
import dev.tidepool.host.operations.StructFields;
import java.lang.foreign.MemorySegment;

/**
 * Operations over whole memory segments: copies, fills, comparisons, byte order, gathering and
 * scattering, reductions, conversions of elements, and conversions between arrays of structs and
 * structs of arrays.
 *
 * {@snippet :
 * MemorySegment ones = MemorySegment.ofArray(new float[1000]);
 * MemoryOperations.fill(ones, 1f);
 * double sum = MemoryOperations.sum(ElementType.FLOAT, ones.asSlice(0, 400)); // 100.0
 * }
 *
 * <p>Segments may be native, mapped or of the heap, and start at any address. To work on a part,
 * slice the segment. Sizes and offsets are in bytes, indices and counts in elements, elements are
 * in the platform's byte order unless their bytes are swapped. Empty segments are legal.
 *
 * <p><b>Checks</b> are made once, before the first byte is written. Every method throws
 *
 * <ul>
 *   <li>{@link IndexOutOfBoundsException} if a destination is too small, or an offset or an index
 *       out of range. A destination may be larger: its front is written;
 *   <li>{@link IllegalArgumentException} if a destination is read-only, a segment does not hold
 *       whole elements, or segments overlap where that makes no sense;
 *   <li>{@link IllegalStateException} if a segment is closed, {@link WrongThreadException} if it
 *       belongs to another thread;
 *   <li>{@link TransferException} if the bytes of a mapped file vanished, because the file was
 *       truncated; what was written by then stays.
 * </ul>
 *
 * <p><b>Speed.</b> Conversions, byte swaps, reductions, {@link #split} and {@link #join} copy
 * elements through small blocks on the Java heap, because Java 25 does not vectorise loops over
 * segments. Each call runs on the calling thread alone; several threads may work on parts of a
 * segment.
 */
public final class MemoryOperations {
  private static final String SOURCE = "source";
  private static final String DESTINATION = "destination";

  private MemoryOperations() {}

  /** Copies all of {@code source} to the front of {@code destination}; they may overlap. */
  public static void copy(MemorySegment source, MemorySegment destination) {
    copy(source, 0, destination, 0, source.byteSize());
  }

  /** Copies {@code bytes} bytes; the ranges may overlap. */
  public static void copy(
      MemorySegment source,
      long sourceOffset,
      MemorySegment destination,
      long destinationOffset,
      long bytes) {
    OperandChecks.readable(SOURCE, source);
    OperandChecks.writable(DESTINATION, destination);
    OperandChecks.range(SOURCE, source, sourceOffset, bytes);
    OperandChecks.range(DESTINATION, destination, destinationOffset, bytes);
    OperandChecks.touching(
        source,
        destination,
        () -> MemorySegment.copy(source, sourceOffset, destination, destinationOffset, bytes));
  }

  /** Sets every byte. */
  public static void fill(MemorySegment destination, byte value) {
    OperandChecks.writable(DESTINATION, destination);
    OperandChecks.touching(destination, destination, () -> Fills.fill(destination, value));
  }

  /** Repeats a pattern of two bytes. */
  public static void fill(MemorySegment destination, short value) {
    fillable(destination, Short.BYTES);
    OperandChecks.touching(destination, destination, () -> Fills.fill(destination, value));
  }

  /** Repeats a pattern of four bytes. */
  public static void fill(MemorySegment destination, int value) {
    fillable(destination, Integer.BYTES);
    OperandChecks.touching(destination, destination, () -> Fills.fill(destination, value));
  }

  /** Repeats a pattern of eight bytes. */
  public static void fill(MemorySegment destination, long value) {
    fillable(destination, Long.BYTES);
    OperandChecks.touching(destination, destination, () -> Fills.fill(destination, value));
  }

  /** Repeats a float, its bits unchanged. */
  public static void fill(MemorySegment destination, float value) {
    fill(destination, Float.floatToRawIntBits(value));
  }

  /** Repeats a double, its bits unchanged. */
  public static void fill(MemorySegment destination, double value) {
    fill(destination, Double.doubleToRawLongBits(value));
  }

  private static void fillable(MemorySegment destination, int width) {
    OperandChecks.writable(DESTINATION, destination);
    OperandChecks.elements(DESTINATION, destination, width);
  }

  /**
   * Returns the offset of the first byte that differs; the size of the shorter segment if it is the
   * front of the longer one; -1 if they are equal.
   */
  public static long mismatch(MemorySegment left, MemorySegment right) {
    comparable(left, right);
    return OperandChecks.answering(left, right, () -> Comparisons.mismatch(left, right));
  }

  /** Returns whether both have the same size and bytes. */
  public static boolean equal(MemorySegment left, MemorySegment right) {
    return mismatch(left, right) < 0;
  }

  /**
   * Returns the order of the first bytes that differ, taken as unsigned; else the shorter one comes
   * first.
   *
   * @return negative, 0 or positive
   */
  public static int compare(MemorySegment left, MemorySegment right) {
    comparable(left, right);
    return OperandChecks.answering(left, right, () -> Comparisons.compare(left, right));
  }

  /**
   * Returns the order of the first elements that differ; else the shorter one comes first.
   * Floating-point elements are ordered as by {@link Double#compare}: -0.0 before 0.0, all
   * not-a-numbers equal and last; booleans false before true.
   *
   * @param type a signed primitive, or {@code BOOLEAN}
   * @return negative, 0 or positive
   */
  public static int compare(ElementType<?> type, MemorySegment left, MemorySegment right) {
    PrimitiveType primitive = PrimitiveType.of(type);
    comparable(left, right);
    OperandChecks.elements("left segment", left, type.byteSize());
    OperandChecks.elements("right segment", right, type.byteSize());
    return OperandChecks.answering(left, right, () -> Comparisons.compare(primitive, left, right));
  }

  private static void comparable(MemorySegment left, MemorySegment right) {
    OperandChecks.readable("left segment", left);
    OperandChecks.readable("right segment", right);
  }

  /**
   * Reverses the order of bytes within each element.
   *
   * @param elementBytes 2, 4 or 8
   */
  public static void swapBytes(int elementBytes, MemorySegment segment) {
    swapBytes(elementBytes, segment, segment);
  }

  /**
   * Copies elements with the order of their bytes reversed. Source and destination may be the same
   * bytes; other overlaps are refused.
   *
   * @param elementBytes 2, 4 or 8
   */
  public static void swapBytes(int elementBytes, MemorySegment source, MemorySegment destination) {
    if (elementBytes != Short.BYTES
        && elementBytes != Integer.BYTES
        && elementBytes != Long.BYTES) {
      throw new IllegalArgumentException(
          "elements have " + elementBytes + " bytes, but bytes can be swapped in 2, 4 or 8");
    }
    OperandChecks.readable(SOURCE, source);
    OperandChecks.writable(DESTINATION, destination);
    long count = OperandChecks.elements(SOURCE, source, elementBytes);
    OperandChecks.fits(DESTINATION, destination, count, elementBytes);
    OperandChecks.apartOrSame(source, OperandChecks.front(destination, source.byteSize()));
    OperandChecks.touching(
        source, destination, () -> Conversions.swapBytes(elementBytes, source, destination, count));
  }

  /**
   * Converts elements with the meaning of Java's casts: integers keep their low bits; what is not
   * an integer is cut towards zero, not-a-number becomes 0 and what is too large the nearest {@code
   * int} or {@code long}, whose low bits are kept for shorter types; other numbers are rounded to
   * the nearest. A boolean is 0 or 1; what is not zero, not-a-number too, is true.
   *
   * <p>If elements of both types have one size, source and destination may be the same bytes; other
   * overlaps are refused.
   *
   * @param from a signed primitive, or {@code BOOLEAN}
   * @param to a signed primitive, or {@code BOOLEAN}
   */
  public static void convert(
      ElementType<?> from, MemorySegment source, ElementType<?> to, MemorySegment destination) {
    PrimitiveType read = PrimitiveType.of(from);
    PrimitiveType written = PrimitiveType.of(to);
    OperandChecks.readable(SOURCE, source);
    OperandChecks.writable(DESTINATION, destination);
    long count = OperandChecks.elements(SOURCE, source, from.byteSize());
    OperandChecks.fits(DESTINATION, destination, count, to.byteSize());
    MemorySegment front = OperandChecks.front(destination, count * to.byteSize());
    if (from.byteSize() == to.byteSize()) {
      OperandChecks.apartOrSame(source, front);
    } else {
      OperandChecks.apart(source, front);
    }
    OperandChecks.touching(
        source, destination, () -> Conversions.convert(read, source, written, destination, count));
  }

  /**
   * Sets element i of {@code destination} to element {@code indices[i]} of {@code source}.
   *
   * @param elementBytes of one element, any positive number
   */
  public static void gather(
      long elementBytes, MemorySegment source, int[] indices, MemorySegment destination) {
    GatherScatter.gather(elementBytes, source, Indices.of(indices), destination);
  }

  /** As {@link #gather(long, MemorySegment, int[], MemorySegment)}, with 64-bit indices. */
  public static void gather(
      long elementBytes, MemorySegment source, long[] indices, MemorySegment destination) {
    GatherScatter.gather(elementBytes, source, Indices.of(indices), destination);
  }

  /**
   * As {@link #gather(long, MemorySegment, int[], MemorySegment)}, with indices in memory.
   *
   * @param indexType {@code INT} or {@code LONG}
   */
  public static void gather(
      long elementBytes,
      MemorySegment source,
      ElementType<?> indexType,
      MemorySegment indices,
      MemorySegment destination) {
    GatherScatter.gather(elementBytes, source, Indices.of(indexType, indices), destination);
  }

  /**
   * Sets element {@code indices[i]} of {@code destination} to element i of {@code source}. Of
   * several with one index the last stays; elements without an index are left as they are.
   *
   * @param elementBytes of one element, any positive number
   */
  public static void scatter(
      long elementBytes, MemorySegment source, int[] indices, MemorySegment destination) {
    GatherScatter.scatter(elementBytes, source, Indices.of(indices), destination);
  }

  /** As {@link #scatter(long, MemorySegment, int[], MemorySegment)}, with 64-bit indices. */
  public static void scatter(
      long elementBytes, MemorySegment source, long[] indices, MemorySegment destination) {
    GatherScatter.scatter(elementBytes, source, Indices.of(indices), destination);
  }

  /**
   * As {@link #scatter(long, MemorySegment, int[], MemorySegment)}, with indices in memory.
   *
   * @param indexType {@code INT} or {@code LONG}
   */
  public static void scatter(
      long elementBytes,
      MemorySegment source,
      ElementType<?> indexType,
      MemorySegment indices,
      MemorySegment destination) {
    GatherScatter.scatter(elementBytes, source, Indices.of(indexType, indices), destination);
  }

  /**
   * Returns the sum of floating-point elements, 0 for none. Computed in double, in one order
   * wherever it runs: 16 lanes within 4096 elements, these pairwise. The error of n elements is at
   * most {@code (260 + log2(n / 4096)) * 2^-53} of the sum of their magnitudes, and typically a few
   * units in the last place.
   *
   * @param type {@code FLOAT} or {@code DOUBLE}
   */
  public static double sum(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofDoubles(Fold.SUM, type, segment, null);
  }

  /**
   * Returns the least of floating-point elements, as by {@link Math#min(double, double)}:
   * not-a-number if there is one.
   *
   * @param type {@code FLOAT} or {@code DOUBLE}
   * @throws IllegalArgumentException if there is no element
   */
  public static double min(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofDoubles(Fold.MIN, type, segment, null);
  }

  /**
   * Returns the greatest of floating-point elements, as by {@link Math#max(double, double)}:
   * not-a-number if there is one.
   *
   * @param type {@code FLOAT} or {@code DOUBLE}
   * @throws IllegalArgumentException if there is no element
   */
  public static double max(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofDoubles(Fold.MAX, type, segment, null);
  }

  /**
   * Returns the sum of the products of floating-point elements, in the order of {@link #sum}.
   * Products of floats are exact, those of doubles are rounded before they are added.
   *
   * @param type {@code FLOAT} or {@code DOUBLE}
   * @throws IllegalArgumentException if the segments have different sizes
   */
  public static double dot(ElementType<?> type, MemorySegment left, MemorySegment right) {
    return SegmentReductions.ofDoubles(Fold.SUM, type, left, right);
  }

  /**
   * Returns the sum of integers, 0 for none, modulo 2 to the 64th; the number of trues for
   * booleans.
   *
   * @param type {@code BYTE}, {@code SHORT}, {@code INT}, {@code LONG} or {@code BOOLEAN}
   */
  public static long sumAsLong(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofLongs(Fold.SUM, type, segment, null);
  }

  /**
   * Returns the least of integers.
   *
   * @param type {@code BYTE}, {@code SHORT}, {@code INT}, {@code LONG} or {@code BOOLEAN}
   * @throws IllegalArgumentException if there is no element
   */
  public static long minAsLong(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofLongs(Fold.MIN, type, segment, null);
  }

  /**
   * Returns the greatest of integers.
   *
   * @param type {@code BYTE}, {@code SHORT}, {@code INT}, {@code LONG} or {@code BOOLEAN}
   * @throws IllegalArgumentException if there is no element
   */
  public static long maxAsLong(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofLongs(Fold.MAX, type, segment, null);
  }

  /**
   * Returns the sum of the products of integers, modulo 2 to the 64th.
   *
   * @param type {@code BYTE}, {@code SHORT}, {@code INT}, {@code LONG} or {@code BOOLEAN}
   * @throws IllegalArgumentException if the segments have different sizes
   */
  public static long dotAsLong(ElementType<?> type, MemorySegment left, MemorySegment right) {
    return SegmentReductions.ofLongs(Fold.SUM, type, left, right);
  }

  /**
   * Copies one field of each struct to the front of {@code column}, one after the other.
   *
   * @param structs structs of {@code structBytes} each
   * @param structBytes from one struct to the next
   * @param fieldOffset of the field in its struct
   * @param fieldBytes of the field
   */
  public static void readField(
      MemorySegment structs,
      long structBytes,
      long fieldOffset,
      long fieldBytes,
      MemorySegment column) {
    StructFields.read(structs, structBytes, fieldOffset, fieldBytes, column);
  }

  /**
   * Sets one field of each struct from {@code column}, the way back of {@link #readField}; other
   * bytes of the structs are left as they are. There may be more structs than elements.
   */
  public static void writeField(
      MemorySegment column,
      MemorySegment structs,
      long structBytes,
      long fieldOffset,
      long fieldBytes) {
    StructFields.write(column, structs, structBytes, fieldOffset, fieldBytes);
  }

  /**
   * Converts an array of structs to a struct of arrays: the i-th component of each struct goes to
   * the front of the i-th column. Components that are structs themselves are kept whole, or taken
   * apart too, as the number of columns says.
   *
   * @param struct from {@link ElementType#struct(Class)}
   * @param columns one for each component, or one for each primitive within, apart from each other
   *     and from the structs
   */
  public static void split(ElementType<?> struct, MemorySegment structs, MemorySegment... columns) {
    StructFields.split(struct, structs, columns);
  }

  /**
   * Converts a struct of arrays to an array of structs, the way back of {@link #split}. The first
   * column says how many structs there are; the bytes between components are left as they are.
   *
   * @param struct from {@link ElementType#struct(Class)}
   * @param columns one for each component, or one for each primitive within, apart from the structs
   */
  public static void join(ElementType<?> struct, MemorySegment structs, MemorySegment... columns) {
    StructFields.join(struct, structs, columns);
  }
}
