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
 * <p>Segments may be native, mapped or on the heap, and may start at any address. To work on a part
 * of a segment, slice it. Sizes and offsets are in bytes; indices and counts are in elements.
 * Elements are in the platform's byte order unless their bytes are swapped. Segments may be empty.
 *
 * <p><b>Checks</b> are made once, before the first byte is written. Every method throws
 *
 * <ul>
 *   <li>{@link IndexOutOfBoundsException} if a destination is too small, or an offset or an index
 *       is out of range. If a destination is larger than needed, its front is written;
 *   <li>{@link IllegalArgumentException} if a destination is read-only, a segment does not hold
 *       whole elements, or segments overlap in an operation that does not allow it;
 *   <li>{@link IllegalStateException} if a segment is closed, {@link WrongThreadException} if it
 *       belongs to another thread;
 *   <li>{@link TransferException} if the bytes of a mapped file vanished, because the file was
 *       truncated. Bytes written by then stay.
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

  /** Copies all of {@code source} to the front of {@code destination}. They may overlap. */
  public static void copy(MemorySegment source, MemorySegment destination) {
    copy(source, 0, destination, 0, source.byteSize());
  }

  /** Copies {@code bytes} bytes. The ranges may overlap. */
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

  /** Sets every byte to a value. */
  public static void fill(MemorySegment destination, byte value) {
    OperandChecks.writable(DESTINATION, destination);
    OperandChecks.touching(destination, destination, () -> Fills.fill(destination, value));
  }

  /** Fills a segment with a pattern of two bytes. */
  public static void fill(MemorySegment destination, short value) {
    fillable(destination, Short.BYTES);
    OperandChecks.touching(destination, destination, () -> Fills.fill(destination, value));
  }

  /** Fills a segment with a pattern of four bytes. */
  public static void fill(MemorySegment destination, int value) {
    fillable(destination, Integer.BYTES);
    OperandChecks.touching(destination, destination, () -> Fills.fill(destination, value));
  }

  /** Fills a segment with a pattern of eight bytes. */
  public static void fill(MemorySegment destination, long value) {
    fillable(destination, Long.BYTES);
    OperandChecks.touching(destination, destination, () -> Fills.fill(destination, value));
  }

  /** Fills a segment with a float, whose bits are not changed. */
  public static void fill(MemorySegment destination, float value) {
    fill(destination, Float.floatToRawIntBits(value));
  }

  /** Fills a segment with a double, whose bits are not changed. */
  public static void fill(MemorySegment destination, double value) {
    fill(destination, Double.doubleToRawLongBits(value));
  }

  private static void fillable(MemorySegment destination, int width) {
    OperandChecks.writable(DESTINATION, destination);
    OperandChecks.elements(DESTINATION, destination, width);
  }

  /**
   * Returns the offset of the first byte that differs. If one segment is the front of the other,
   * returns the size of the shorter one. Returns -1 if they are equal.
   */
  public static long mismatch(MemorySegment left, MemorySegment right) {
    comparable(left, right);
    return OperandChecks.answering(left, right, () -> Comparisons.mismatch(left, right));
  }

  /** Returns whether both segments have the same size and bytes. */
  public static boolean equal(MemorySegment left, MemorySegment right) {
    return mismatch(left, right) < 0;
  }

  /**
   * Compares two segments by the first bytes that differ, as unsigned numbers. If none differ, the
   * shorter segment is less.
   *
   * @return negative, 0 or positive
   */
  public static int compare(MemorySegment left, MemorySegment right) {
    comparable(left, right);
    return OperandChecks.answering(left, right, () -> Comparisons.compare(left, right));
  }

  /**
   * Compares two segments by the first elements that differ. If none differ, the shorter segment is
   * less. Floating-point elements are ordered as by {@link Double#compare}: -0.0 before 0.0, all
   * NaNs equal and last. The boolean false is before true.
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
   * Reverses the byte order of each element.
   *
   * @param elementBytes 2, 4 or 8
   */
  public static void swapBytes(int elementBytes, MemorySegment segment) {
    swapBytes(elementBytes, segment, segment);
  }

  /**
   * Copies elements and reverses their byte order. Source and destination may be the same bytes;
   * other overlaps are refused.
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
   * Converts elements like Java's casts. An integer keeps its low bits. A floating-point number
   * that becomes an integer is rounded towards zero; NaN becomes 0, and a number out of range
   * becomes the nearest {@code int} or {@code long}, whose low bits are kept for shorter types.
   * Other numbers are rounded to the nearest. A boolean is 0 or 1; every number other than zero,
   * also NaN, is true.
   *
   * <p>If both types have the same size, source and destination may be the same bytes; other
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
   * @param elementBytes bytes of one element, at least 1
   */
  public static void gather(
      long elementBytes, MemorySegment source, int[] indices, MemorySegment destination) {
    GatherScatter.gather(elementBytes, source, Indices.of(indices), destination);
  }

  /** Like {@link #gather(long, MemorySegment, int[], MemorySegment)}, with 64-bit indices. */
  public static void gather(
      long elementBytes, MemorySegment source, long[] indices, MemorySegment destination) {
    GatherScatter.gather(elementBytes, source, Indices.of(indices), destination);
  }

  /**
   * Like {@link #gather(long, MemorySegment, int[], MemorySegment)}, with indices in memory.
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
   * Sets element {@code indices[i]} of {@code destination} to element i of {@code source}. If
   * several have the same index, the last one stays. Elements without an index are not changed.
   *
   * @param elementBytes bytes of one element, at least 1
   */
  public static void scatter(
      long elementBytes, MemorySegment source, int[] indices, MemorySegment destination) {
    GatherScatter.scatter(elementBytes, source, Indices.of(indices), destination);
  }

  /** Like {@link #scatter(long, MemorySegment, int[], MemorySegment)}, with 64-bit indices. */
  public static void scatter(
      long elementBytes, MemorySegment source, long[] indices, MemorySegment destination) {
    GatherScatter.scatter(elementBytes, source, Indices.of(indices), destination);
  }

  /**
   * Like {@link #scatter(long, MemorySegment, int[], MemorySegment)}, with indices in memory.
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
   * Returns the sum of floating-point elements, or 0 if there are none. The sum is computed in
   * double, in the same order on every machine: in 16 lanes within blocks of 4096 elements, and
   * pairwise over the blocks. The error of n elements is at most {@code (260 + log2(n / 4096)) *
   * 2^-53} of the sum of their magnitudes, and typically a few units in the last place.
   *
   * @param type {@code FLOAT} or {@code DOUBLE}
   */
  public static double sum(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofDoubles(Fold.SUM, type, segment, null);
  }

  /**
   * Returns the least floating-point element, as by {@link Math#min(double, double)}. Returns NaN
   * if any element is NaN.
   *
   * @param type {@code FLOAT} or {@code DOUBLE}
   * @throws IllegalArgumentException if there is no element
   */
  public static double min(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofDoubles(Fold.MIN, type, segment, null);
  }

  /**
   * Returns the greatest floating-point element, as by {@link Math#max(double, double)}. Returns
   * NaN if any element is NaN.
   *
   * @param type {@code FLOAT} or {@code DOUBLE}
   * @throws IllegalArgumentException if there is no element
   */
  public static double max(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofDoubles(Fold.MAX, type, segment, null);
  }

  /**
   * Returns the sum of the products of floating-point elements, in the order of {@link #sum}.
   * Products of floats are exact. Products of doubles are rounded before they are added.
   *
   * @param type {@code FLOAT} or {@code DOUBLE}
   * @throws IllegalArgumentException if the segments have different sizes
   */
  public static double dot(ElementType<?> type, MemorySegment left, MemorySegment right) {
    return SegmentReductions.ofDoubles(Fold.SUM, type, left, right);
  }

  /**
   * Returns the sum of integers modulo 2 to the 64th, or 0 if there are none. For booleans, returns
   * the number of elements that are true.
   *
   * @param type {@code BYTE}, {@code SHORT}, {@code INT}, {@code LONG} or {@code BOOLEAN}
   */
  public static long sumAsLong(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofLongs(Fold.SUM, type, segment, null);
  }

  /**
   * Returns the least integer.
   *
   * @param type {@code BYTE}, {@code SHORT}, {@code INT}, {@code LONG} or {@code BOOLEAN}
   * @throws IllegalArgumentException if there is no element
   */
  public static long minAsLong(ElementType<?> type, MemorySegment segment) {
    return SegmentReductions.ofLongs(Fold.MIN, type, segment, null);
  }

  /**
   * Returns the greatest integer.
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
   * Copies one field of each struct to the front of {@code column}, one after another.
   *
   * @param structs structs of {@code structBytes} each
   * @param structBytes the distance from one struct to the next
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
   * Copies the elements of {@code column} to one field of each struct; the reverse of {@link
   * #readField}. Other bytes of the structs are not changed. There may be more structs than
   * elements.
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
   * the front of the i-th column. Components that are structs themselves stay whole or are split
   * too, depending on the number of columns.
   *
   * @param struct from {@link ElementType#struct(Class)}
   * @param columns one for each component, or one for each primitive within; they overlap neither
   *     each other nor the structs
   */
  public static void split(ElementType<?> struct, MemorySegment structs, MemorySegment... columns) {
    StructFields.split(struct, structs, columns);
  }

  /**
   * Converts a struct of arrays to an array of structs; the reverse of {@link #split}. The first
   * column determines the number of structs. Bytes between components are not changed.
   *
   * @param struct from {@link ElementType#struct(Class)}
   * @param columns one for each component, or one for each primitive within; they do not overlap
   *     the structs
   */
  public static void join(ElementType<?> struct, MemorySegment structs, MemorySegment... columns) {
    StructFields.join(struct, structs, columns);
  }
}
