package dev.tidepool;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Moves records between arrays and C structs.
 *
 * <p>One record is read or made by a pair of method handles composed once for its type: the reader
 * {@code (MemorySegment, long) R} and, for each component, a writer {@code (R, MemorySegment,
 * long)}.
 */
final class StructCopier<R extends Record> implements ElementCopier<R[]> {
  private static final Map<Class<?>, ValueLayout> FIELDS =
      Map.of(
          byte.class, ValueLayout.JAVA_BYTE,
          short.class, ValueLayout.JAVA_SHORT,
          int.class, ValueLayout.JAVA_INT,
          long.class, ValueLayout.JAVA_LONG,
          float.class, ValueLayout.JAVA_FLOAT,
          double.class, ValueLayout.JAVA_DOUBLE,
          boolean.class, ValueLayout.JAVA_BOOLEAN);

  private final StructLayout layout;
  private final MethodHandle reader;
  private final MethodHandle writer;

  private StructCopier(StructLayout layout, MethodHandle reader, MethodHandle writer) {
    this.layout = layout;
    this.reader = reader.asType(reader.type().changeReturnType(Record.class));
    this.writer = writer.asType(writer.type().changeParameterType(0, Record.class));
  }

  static <R extends Record> StructCopier<R> of(Class<R> type, MethodHandles.Lookup lookup) {
    return new StructCopier<>(layoutOf(type), readerOf(type, lookup), writerOf(type, lookup));
  }

  StructLayout layout() {
    return layout;
  }

  static StructLayout layoutOf(Class<?> type) {
    RecordComponent[] components = type.getRecordComponents();
    if (components.length == 0) {
      throw new IllegalArgumentException(
          type.getName() + " has no components: a struct needs at least one");
    }
    List<MemoryLayout> members = new ArrayList<>();
    long offset = 0;
    long alignment = 1;
    for (RecordComponent component : components) {
      MemoryLayout member = memberLayout(type, component).withName(component.getName());
      long padding = -offset & (member.byteAlignment() - 1);
      if (padding > 0) {
        members.add(MemoryLayout.paddingLayout(padding));
      }
      members.add(member);
      offset += padding + member.byteSize();
      alignment = Math.max(alignment, member.byteAlignment());
    }
    long tail = -offset & (alignment - 1);
    if (tail > 0) {
      members.add(MemoryLayout.paddingLayout(tail));
    }
    return MemoryLayout.structLayout(members.toArray(MemoryLayout[]::new));
  }

  private static MemoryLayout memberLayout(Class<?> owner, RecordComponent component) {
    ValueLayout field = FIELDS.get(component.getType());
    if (field != null) {
      return field;
    }
    if (component.getType().isRecord()) {
      return layoutOf(component.getType());
    }
    throw new IllegalArgumentException(
        "component "
            + component.getName()
            + " of "
            + owner.getName()
            + " is a "
            + component.getType().getTypeName()
            + "; a struct holds byte, short, int, long, float, double, boolean and records of"
            + " them");
  }

  /**
   * {@code (MemorySegment, long) R}: all components read at their offsets, then the constructor.
   */
  private static MethodHandle readerOf(Class<?> type, MethodHandles.Lookup lookup) {
    StructLayout layout = layoutOf(type);
    RecordComponent[] components = type.getRecordComponents();
    Class<?>[] parameters = new Class<?>[components.length];
    MethodHandle[] readers = new MethodHandle[components.length];
    for (int i = 0; i < components.length; i++) {
      RecordComponent component = components[i];
      parameters[i] = component.getType();
      readers[i] = shifted(componentReader(component, lookup), 1, offsetOf(layout, component));
    }
    try {
      MethodHandle made =
          lookup.findConstructor(type, MethodType.methodType(void.class, parameters));
      for (int i = components.length - 1; i >= 0; i--) {
        made = MethodHandles.collectArguments(made, i, readers[i]);
      }
      // Each component took (segment, offset); all of them take the same pair.
      int[] pairs = new int[2 * components.length];
      for (int i = 0; i < pairs.length; i++) {
        pairs[i] = i % 2;
      }
      return MethodHandles.permuteArguments(
          made, MethodType.methodType(type, MemorySegment.class, long.class), pairs);
    } catch (ReflectiveOperationException e) {
      throw noAccess(type, e);
    }
  }

  private static MethodHandle componentReader(
      RecordComponent component, MethodHandles.Lookup lookup) {
    ValueLayout field = FIELDS.get(component.getType());
    if (field == null) {
      return readerOf(component.getType(), lookup);
    }
    return MethodHandles.varHandleInvoker(
            java.lang.invoke.VarHandle.AccessMode.GET,
            MethodType.methodType(component.getType(), MemorySegment.class, long.class))
        .bindTo(unaligned(field).varHandle());
  }

  /** {@code (R, MemorySegment, long) void}: all components written at their offsets. */
  private static MethodHandle writerOf(Class<?> type, MethodHandles.Lookup lookup) {
    StructLayout layout = layoutOf(type);
    MethodHandle all =
        MethodHandles.empty(
            MethodType.methodType(void.class, type, MemorySegment.class, long.class));
    for (RecordComponent component : type.getRecordComponents()) {
      try {
        MethodHandle get =
            lookup.findVirtual(
                type, component.getName(), MethodType.methodType(component.getType()));
        MethodHandle put =
            shifted(componentWriter(component, lookup), 2, offsetOf(layout, component));
        all = MethodHandles.foldArguments(all, MethodHandles.filterArguments(put, 0, get));
      } catch (ReflectiveOperationException e) {
        throw noAccess(type, e);
      }
    }
    return all;
  }

  private static MethodHandle componentWriter(
      RecordComponent component, MethodHandles.Lookup lookup) {
    ValueLayout field = FIELDS.get(component.getType());
    if (field == null) {
      return writerOf(component.getType(), lookup);
    }
    MethodHandle set =
        MethodHandles.varHandleInvoker(
                java.lang.invoke.VarHandle.AccessMode.SET,
                MethodType.methodType(
                    void.class, MemorySegment.class, long.class, component.getType()))
            .bindTo(unaligned(field).varHandle());
    return MethodHandles.permuteArguments(
        set,
        MethodType.methodType(void.class, component.getType(), MemorySegment.class, long.class),
        1,
        2,
        0);
  }

  private static ValueLayout unaligned(ValueLayout layout) {
    return layout.withByteAlignment(1);
  }

  private static long offsetOf(StructLayout layout, RecordComponent component) {
    return layout.byteOffset(MemoryLayout.PathElement.groupElement(component.getName()));
  }

  /** The handle with {@code delta} added to its long parameter at {@code position}. */
  private static MethodHandle shifted(MethodHandle handle, int position, long delta) {
    return MethodHandles.filterArguments(
        handle, position, MethodHandles.insertArguments(ADD, 1, delta));
  }

  private static final MethodHandle ADD = addHandle();

  private static MethodHandle addHandle() {
    try {
      return MethodHandles.lookup()
          .findStatic(
              Math.class, "addExact", MethodType.methodType(long.class, long.class, long.class));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static IllegalArgumentException noAccess(Class<?> type, ReflectiveOperationException e) {
    return new IllegalArgumentException(
        "no access to the record "
            + type.getName()
            + ": make it public, or pass MethodHandles.lookup() to ElementType.struct",
        e);
  }

  @Override
  public void write(R[] source, int sourceIndex, MemorySegment target, long offset, int count) {
    MemorySegment all = target.asSlice(offset, count * layout.byteSize());
    int i = 0;
    try {
      for (; i < count; i++) {
        writer.invokeExact((Record) source[sourceIndex + i], all, i * layout.byteSize());
      }
    } catch (NullPointerException e) {
      throw missing(sourceIndex + i, e);
    } catch (Throwable e) {
      throw unchecked(e);
    }
  }

  @Override
  @SuppressWarnings("unchecked") // the reader makes records of the array's type
  public void read(MemorySegment source, long offset, R[] target, int targetIndex, int count) {
    MemorySegment all = source.asSlice(offset, count * layout.byteSize());
    try {
      for (int i = 0; i < count; i++) {
        target[targetIndex + i] = (R) (Record) reader.invokeExact(all, i * layout.byteSize());
      }
    } catch (Throwable e) {
      throw unchecked(e);
    }
  }

  private static NullPointerException missing(int index, NullPointerException cause) {
    NullPointerException named =
        new NullPointerException(
            "element %d of the array of records is null, one of its components is, or an accessor"
                    .formatted(index)
                + " failed with that; a struct has no place for null");
    named.initCause(cause);
    return named;
  }

  /**
   * Record constructors and accessors may throw anything; the caller sees it as it was thrown, but
   * for a NullPointerException of an accessor.
   */
  private static RuntimeException unchecked(Throwable e) {
    if (e instanceof Error error) {
      throw error;
    }
    return e instanceof RuntimeException runtime
        ? runtime
        : new TidepoolException("a record failed", e);
  }
}
