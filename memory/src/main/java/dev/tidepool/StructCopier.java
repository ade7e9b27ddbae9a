package dev.tidepool;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Copies records between arrays and C structs.
 *
 * <p>A record type has two method handles, composed once: the reader {@code (MemorySegment, long)
 * R} and the writer {@code (R, MemorySegment, long) void}.
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

  /**
   * The most components of a record that composed handles create. Each component takes a segment
   * and a long, which are three of a method's 255 parameter slots; method handles use some slots
   * themselves.
   */
  private static final int MOST_COMPOSED = 80;

  private final StructLayout layout;
  private final MethodHandle reader;
  private final MethodHandle writer;

  private StructCopier(StructLayout layout, MethodHandle reader, MethodHandle writer) {
    this.layout = layout;
    this.reader = reader.asType(reader.type().changeReturnType(Record.class));
    this.writer = writer.asType(writer.type().changeParameterType(0, Record.class));
  }

  /**
   * Returns the copier of a record.
   *
   * @param lookup a lookup with access to the record; null to use the access that the record's
   *     module gives this library
   */
  static <R extends Record> StructCopier<R> of(
      Class<R> type, MethodHandles.@Nullable Lookup lookup) {
    return new StructCopier<>(layoutOf(type), readerOf(type, lookup), writerOf(type, lookup));
  }

  StructLayout layout() {
    return layout;
  }

  static StructLayout layoutOf(Class<?> type) {
    return layoutOf(type, new LinkedHashMap<>());
  }

  /**
   * Returns the layout of a record.
   *
   * @param outer the records that contain this one, the outermost first, each with the component
   *     that leads to it
   */
  private static StructLayout layoutOf(Class<?> type, Map<Class<?>, String> outer) {
    RecordComponent[] components = type.getRecordComponents();
    if (components.length == 0) {
      throw new IllegalArgumentException(
          type.getName() + " has no components: a struct needs at least one");
    }
    List<MemoryLayout> members = new ArrayList<>();
    long offset = 0;
    long alignment = 1;
    for (RecordComponent component : components) {
      outer.put(type, component.getName());
      MemoryLayout member = memberLayout(type, component, outer).withName(component.getName());
      outer.remove(type);
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

  private static MemoryLayout memberLayout(
      Class<?> owner, RecordComponent component, Map<Class<?>, String> outer) {
    Class<?> type = component.getType();
    ValueLayout field = FIELDS.get(type);
    if (field != null) {
      return field;
    }
    if (outer.containsKey(type)) {
      List<Class<?>> records = List.copyOf(outer.keySet());
      List<String> path = List.copyOf(outer.values());
      throw new IllegalArgumentException(
          "the record "
              + type.getName()
              + " contains itself, as "
              + String.join(".", path.subList(records.indexOf(type), path.size()))
              + (records.getFirst().equals(type)
                  ? ""
                  : ", and is " + pathTo(type, outer) + " of " + records.getFirst().getName())
              + "; a struct lies in memory with all its components, so it cannot be one of them");
    }
    if (type.isRecord()) {
      return layoutOf(type, outer);
    }
    throw new IllegalArgumentException(
        "component "
            + component.getName()
            + " of "
            + owner.getName()
            + " is a "
            + type.getTypeName()
            + "; a struct holds byte, short, int, long, float, double, boolean and records of"
            + " them");
  }

  private static String pathTo(Class<?> type, Map<Class<?>, String> outer) {
    List<String> path = List.copyOf(outer.values());
    return String.join(".", path.subList(0, List.copyOf(outer.keySet()).indexOf(type)));
  }

  /**
   * Returns the rights to read and create a record: those of the caller's lookup, or those that the
   * record's module gives this library. Private access is included if it is available.
   */
  private static MethodHandles.Lookup rights(Class<?> type, MethodHandles.@Nullable Lookup lookup) {
    Module library = StructCopier.class.getModule();
    if (lookup == null) {
      library.addReads(type.getModule());
    }
    try {
      return MethodHandles.privateLookupIn(type, lookup == null ? MethodHandles.lookup() : lookup);
    } catch (IllegalAccessException e) {
      return lookup == null ? MethodHandles.publicLookup() : lookup;
    }
  }

  /**
   * Returns {@code (MemorySegment, long) R}, which reads all components at their offsets, then
   * calls the constructor.
   */
  private static MethodHandle readerOf(Class<?> type, MethodHandles.@Nullable Lookup lookup) {
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
      return components.length > MOST_COMPOSED
          ? readerOfMany(type, parameters, readers, lookup)
          : readerOf(type, parameters, readers, rights(type, lookup));
    } catch (ReflectiveOperationException e) {
      throw noAccess(type, lookup, e);
    }
  }

  private static MethodHandle readerOf(
      Class<?> type, Class<?>[] parameters, MethodHandle[] readers, MethodHandles.Lookup rights)
      throws ReflectiveOperationException {
    MethodHandle made = rights.findConstructor(type, MethodType.methodType(void.class, parameters));
    for (int i = readers.length - 1; i >= 0; i--) {
      made = MethodHandles.collectArguments(made, i, readers[i]);
    }
    // Each component took its own (segment, offset). Now all take the same pair.
    int[] pairs = new int[2 * readers.length];
    for (int i = 0; i < pairs.length; i++) {
      pairs[i] = i % 2;
    }
    return MethodHandles.permuteArguments(
        made, MethodType.methodType(type, MemorySegment.class, long.class), pairs);
  }

  /**
   * Like the method above, for a constructor with more parameters than a method handle can take.
   * Uses reflection, which has no such limit but boxes each component.
   */
  private static MethodHandle readerOfMany(
      Class<?> type,
      Class<?>[] parameters,
      MethodHandle[] readers,
      MethodHandles.@Nullable Lookup lookup)
      throws ReflectiveOperationException {
    Constructor<?> constructor = type.getDeclaredConstructor(parameters);
    MethodHandles.Lookup rights = rights(type, lookup);
    if (!rights.hasFullPrivilegeAccess()) {
      // Without full privileges, this lookup must not use reflection. The library's own lookup is
      // used instead.
      rights = MethodHandles.lookup();
      if (!constructor.trySetAccessible() && !constructor.canAccess(null)) {
        throw new IllegalAccessException("the constructor of " + type.getName() + " is closed");
      }
    }
    MethodHandle make =
        rights
            .findVirtual(
                Constructor.class,
                "newInstance",
                MethodType.methodType(Object.class, Object[].class))
            .asFixedArity()
            .bindTo(constructor);
    MethodHandle[] boxed =
        Arrays.stream(readers)
            .map(reader -> reader.asType(reader.type().changeReturnType(Object.class)))
            .toArray(MethodHandle[]::new);
    return MethodHandles.insertArguments(MADE, 0, make, boxed)
        .asType(MethodType.methodType(type, MemorySegment.class, long.class));
  }

  private static final MethodHandle MADE =
      handle(
          MethodHandles.lookup(),
          StructCopier.class,
          "made",
          MethodType.methodType(
              Object.class,
              MethodHandle.class,
              MethodHandle[].class,
              MemorySegment.class,
              long.class));

  /** Creates a record from the values that its readers read. */
  @SuppressWarnings("UnusedMethod") // called by its handle
  private static Object made(
      MethodHandle make, MethodHandle[] readers, MemorySegment source, long offset)
      throws Throwable {
    Object[] values = new Object[readers.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = readers[i].invokeExact(source, offset);
    }
    try {
      return make.invokeExact(values);
    } catch (InvocationTargetException e) {
      throw e.getCause() == null ? e : e.getCause();
    }
  }

  private static MethodHandle componentReader(
      RecordComponent component, MethodHandles.@Nullable Lookup lookup) {
    ValueLayout field = FIELDS.get(component.getType());
    if (field == null) {
      return readerOf(component.getType(), lookup);
    }
    return MethodHandles.varHandleInvoker(
            java.lang.invoke.VarHandle.AccessMode.GET,
            MethodType.methodType(component.getType(), MemorySegment.class, long.class))
        .bindTo(unaligned(field).varHandle());
  }

  /** Returns {@code (R, MemorySegment, long) void}, which writes components at their offsets. */
  private static MethodHandle writerOf(Class<?> type, MethodHandles.@Nullable Lookup lookup) {
    StructLayout layout = layoutOf(type);
    MethodHandles.Lookup rights = rights(type, lookup);
    MethodHandle all =
        MethodHandles.empty(
            MethodType.methodType(void.class, type, MemorySegment.class, long.class));
    for (RecordComponent component : type.getRecordComponents()) {
      try {
        MethodHandle get =
            rights.findVirtual(
                type, component.getName(), MethodType.methodType(component.getType()));
        MethodHandle put =
            shifted(componentWriter(component, lookup), 2, offsetOf(layout, component));
        all = MethodHandles.foldArguments(all, MethodHandles.filterArguments(put, 0, get));
      } catch (ReflectiveOperationException e) {
        throw noAccess(type, lookup, e);
      }
    }
    return all;
  }

  private static MethodHandle componentWriter(
      RecordComponent component, MethodHandles.@Nullable Lookup lookup) {
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

  /** Returns the handle with {@code delta} added to its long parameter at {@code position}. */
  private static MethodHandle shifted(MethodHandle handle, int position, long delta) {
    return MethodHandles.filterArguments(
        handle, position, MethodHandles.insertArguments(ADD, 1, delta));
  }

  private static final MethodHandle ADD =
      handle(
          MethodHandles.publicLookup(),
          Math.class,
          "addExact",
          MethodType.methodType(long.class, long.class, long.class));

  private static MethodHandle handle(
      MethodHandles.Lookup lookup, Class<?> owner, String name, MethodType type) {
    try {
      return lookup.findStatic(owner, name, type);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static IllegalArgumentException noAccess(
      Class<?> type, MethodHandles.@Nullable Lookup lookup, ReflectiveOperationException e) {
    if (lookup != null) {
      return new IllegalArgumentException(
          "the lookup in "
              + lookup.lookupClass().getName()
              + " has no access to the record "
              + type.getName()
              + "; pass the MethodHandles.lookup() of a class that has",
          e);
    }
    Module module = type.getModule();
    String library = StructCopier.class.getModule().getName();
    return new IllegalArgumentException(
        "no access to the record "
            + type.getName()
            + ", for "
            + module
            + " does not open the package "
            + type.getPackageName()
            + " to "
            + (library == null ? "the class path" : library)
            + ": open it, or pass the record's MethodHandles.lookup() to ElementType.struct",
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
            "element %s of the array of records is null, one of its components is, or an accessor"
                    .formatted(index)
                + " failed with that; a struct has no place for null");
    named.initCause(cause);
    return named;
  }

  /**
   * Returns an exception of a record's constructor or accessor as the caller sees it: unchanged if
   * it is unchecked. (A NullPointerException of an accessor is handled by the caller.)
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
