package dev.tidepool;

import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Array;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The type of a buffer's elements.
 *
 * {@snippet :
 * record Point(float x, float y) {}
 *
 * UnifiedBuffer<double[]> numbers = memory.allocate(ElementType.DOUBLE, 1000);
 * UnifiedBuffer<Point[]> points = memory.allocate(ElementType.struct(Point.class), 1000);
 * points.copyFrom(new Point[] {new Point(1, 2)});
 * }
 *
 * <p>{@code A} is the Java array that carries elements on the heap, so that the compiler checks
 * copies and nothing is boxed. In memory an element has the platform's byte order. Unsigned types
 * are carried by signed arrays of the same width; kernels compute with the unsigned values.
 *
 * <p>Immutable and thread-safe. Two struct types of the same record are equal.
 *
 * @param <A> the carrier array, such as {@code float[]}
 */
public final class ElementType<A> {
  /** Signed 8-bit integers. */
  public static final ElementType<byte[]> BYTE = primitive("BYTE", byte.class, JAVA_BYTE, false);

  /** Signed 16-bit integers. */
  public static final ElementType<short[]> SHORT =
      primitive("SHORT", short.class, JAVA_SHORT_UNALIGNED, false);

  /** Signed 32-bit integers. */
  public static final ElementType<int[]> INT =
      primitive("INT", int.class, JAVA_INT_UNALIGNED, false);

  /** Signed 64-bit integers. */
  public static final ElementType<long[]> LONG =
      primitive("LONG", long.class, JAVA_LONG_UNALIGNED, false);

  /** 32-bit floating point. */
  public static final ElementType<float[]> FLOAT =
      primitive("FLOAT", float.class, JAVA_FLOAT_UNALIGNED, false);

  /** 64-bit floating point. */
  public static final ElementType<double[]> DOUBLE =
      primitive("DOUBLE", double.class, JAVA_DOUBLE_UNALIGNED, false);

  /** Booleans of one byte each, 0 or 1; any other byte reads as true. */
  public static final ElementType<boolean[]> BOOLEAN =
      primitive("BOOLEAN", boolean.class, JAVA_BOOLEAN, false);

  /** Unsigned 8-bit integers, carried as the bytes with the same bits. */
  public static final ElementType<byte[]> UNSIGNED_BYTE =
      primitive("UNSIGNED_BYTE", byte.class, JAVA_BYTE, true);

  /** Unsigned 16-bit integers, carried as the shorts with the same bits. */
  public static final ElementType<short[]> UNSIGNED_SHORT =
      primitive("UNSIGNED_SHORT", short.class, JAVA_SHORT_UNALIGNED, true);

  /** Unsigned 32-bit integers, carried as the ints with the same bits. */
  public static final ElementType<int[]> UNSIGNED_INT =
      primitive("UNSIGNED_INT", int.class, JAVA_INT_UNALIGNED, true);

  /** Unsigned 64-bit integers, carried as the longs with the same bits. */
  public static final ElementType<long[]> UNSIGNED_LONG =
      primitive("UNSIGNED_LONG", long.class, JAVA_LONG_UNALIGNED, true);

  private static final List<ElementType<?>> CARRIED =
      List.of(BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, BOOLEAN);

  private final String name;
  private final Class<?> component;
  private final Class<?> arrayClass;
  private final MemoryLayout layout;
  private final long byteSize;
  // The largest length of a buffer whose bytes fit in a long. Computed once, because a division
  // costs as much as the rest of an allocation's checks.
  private final long mostElements;
  private final boolean unsigned;
  private final ElementCopier<A> copier;

  private ElementType(
      String name,
      Class<?> component,
      MemoryLayout layout,
      boolean unsigned,
      ElementCopier<A> copier) {
    this.name = name;
    this.component = component;
    this.arrayClass = component.arrayType();
    this.layout = layout;
    this.byteSize = layout.byteSize();
    this.mostElements = Long.MAX_VALUE / byteSize;
    this.unsigned = unsigned;
    this.copier = copier;
  }

  private static <A> ElementType<A> primitive(
      String name, Class<?> component, ValueLayout layout, boolean unsigned) {
    return new ElementType<>(
        name,
        component,
        layout.withByteAlignment(layout.byteSize()),
        unsigned,
        ElementCopier.primitive(layout));
  }

  /**
   * Returns the type of a record with the layout of a C struct: components in order, naturally
   * aligned, padded at the end to the largest alignment. Components are primitives other than
   * {@code char}, or records of them.
   *
   * <p>A private record is read and created by deep reflection. Code on the class path always
   * allows this; a module allows it in the packages that it opens to {@code dev.tidepool.memory}.
   * Public records of exported packages need no such access. Records of more than 80 components are
   * read more slowly.
   *
   * <p>A copy calls the accessors and the constructor while it uses its buffer, so these must not
   * wait for operations on that buffer.
   *
   * @throws IllegalArgumentException if a component has another type, the record contains itself,
   *     or the record's module does not open its package to this library. In the last case, pass a
   *     lookup
   */
  public static <R extends Record> ElementType<R[]> struct(Class<R> recordType) {
    return struct(recordType, StructCopier.of(recordType, null));
  }

  /**
   * Returns the type of a record that is read and created with the access rights of {@code lookup},
   * for packages that are not open to this library.
   *
   * @throws IllegalArgumentException if a component has another type, the record contains itself,
   *     or the lookup has no access to the record
   */
  public static <R extends Record> ElementType<R[]> struct(
      Class<R> recordType, MethodHandles.Lookup lookup) {
    return struct(
        recordType, StructCopier.of(recordType, Objects.requireNonNull(lookup, "lookup")));
  }

  /**
   * Returns the layout of a record as an element of {@link #struct(Class)}. Needs no access to the
   * record.
   *
   * @throws IllegalArgumentException if a component has a type that {@link #struct(Class)} does not
   *     allow, or the record contains itself
   */
  public static StructLayout structLayout(Class<? extends Record> recordType) {
    return StructCopier.layoutOf(recordType);
  }

  private static <R extends Record> ElementType<R[]> struct(
      Class<R> recordType, StructCopier<R> copier) {
    return new ElementType<>(
        "struct " + recordType.getSimpleName(), recordType, copier.layout(), false, copier);
  }

  /**
   * Returns the type whose carrier array has the given class, such as {@code FLOAT} for {@code
   * float[]}; empty for other classes, including arrays of records. Never returns an unsigned type.
   */
  public static Optional<ElementType<?>> ofArray(Class<?> arrayClass) {
    return CARRIED.stream()
        .<ElementType<?>>map(type -> type)
        .filter(type -> type.arrayClass() == arrayClass)
        .findFirst();
  }

  /** Returns the name of this type's constant, or {@code struct} and the record's name. */
  public String name() {
    return name;
  }

  /** Returns the bytes of one element, including padding. */
  public long byteSize() {
    return byteSize;
  }

  /** Returns the memory layout of one element, naturally aligned. */
  public MemoryLayout layout() {
    return layout;
  }

  /** Returns whether kernels treat the elements as unsigned integers. */
  public boolean isUnsigned() {
    return unsigned;
  }

  /** Returns whether the elements are records. */
  public boolean isStruct() {
    return component.isRecord();
  }

  /** Returns the class of the carrier array, such as {@code float[].class}. */
  @SuppressWarnings("unchecked")
  public Class<A> arrayClass() {
    return (Class<A>) arrayClass;
  }

  /** Returns a new carrier array. */
  @SuppressWarnings("unchecked")
  public A newArray(int length) {
    return (A) Array.newInstance(component, length);
  }

  /**
   * Returns the number of elements in a carrier array.
   *
   * @throws IllegalArgumentException if the array is of another class, which an unchecked cast of a
   *     buffer or a type makes possible
   */
  public int length(A array) {
    if (array.getClass() != arrayClass) {
      throw otherArray(array.getClass());
    }
    return Array.getLength(array);
  }

  private IllegalArgumentException otherArray(Class<?> given) {
    return new IllegalArgumentException(
        "elements of "
            + this
            + " are carried by "
            + arrayClass.getTypeName()
            + ", not by "
            + given.getTypeName()
            + "; look for an unchecked cast of the buffer or of its type");
  }

  /**
   * Returns how many elements fill a number of bytes.
   *
   * @throws IllegalArgumentException if it is not a whole number
   */
  public long elements(long bytes) {
    if (bytes % byteSize() != 0) {
      throw new IllegalArgumentException(
          bytes
              + " bytes are no whole number of "
              + this
              + " elements of "
              + byteSize()
              + " bytes; take a slice of a whole number of them first");
    }
    return bytes / byteSize();
  }

  /**
   * Returns the bytes of {@code length} elements.
   *
   * @throws IllegalArgumentException if {@code length} is negative or the bytes exceed 64 bits
   */
  public long bytes(long length) {
    // As an unsigned number, a negative length exceeds the maximum.
    if (Long.compareUnsigned(length, mostElements) > 0) {
      throw uncountable(length);
    }
    return length * byteSize;
  }

  private IllegalArgumentException uncountable(long length) {
    return new IllegalArgumentException(
        length < 0
            ? "length is "
                + length
                + ", but a buffer has zero elements or more; compute a product that exceeds an int"
                + " in long"
            : length + " elements of " + byteSize + " bytes exceed " + Long.MAX_VALUE + " bytes");
  }

  /** Copies elements of an array to memory. Bounds are checked; any byte offset is allowed. */
  public void write(A source, int sourceIndex, MemorySegment target, long offset, int count) {
    Objects.checkFromIndexSize(sourceIndex, count, length(source));
    copier.write(source, sourceIndex, target, offset, count);
  }

  /** Copies elements of memory to an array. Bounds are checked; any byte offset is allowed. */
  public void read(MemorySegment source, long offset, A target, int targetIndex, int count) {
    Objects.checkFromIndexSize(targetIndex, count, length(target));
    copier.read(source, offset, target, targetIndex, count);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ElementType<?> that
        && name.equals(that.name)
        && component == that.component;
  }

  @Override
  public int hashCode() {
    return Objects.hash(name, component);
  }

  @Override
  public String toString() {
    return name;
  }
}
