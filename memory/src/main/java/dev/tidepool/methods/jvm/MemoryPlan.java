package dev.tidepool.methods.jvm;

import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.ValueType;
import java.lang.constant.ClassDesc;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The arrays and scalars that generated code receives, and their order. */
final class MemoryPlan {
  private final KernelTree tree;
  private final List<Slot> slots = new ArrayList<>();
  private final List<Scalar> scalars = new ArrayList<>();

  MemoryPlan(KernelTree tree) {
    this.tree = tree;
  }

  /** An array that generated code receives. */
  sealed interface Slot {
    /** Returns its type in class files. */
    ClassDesc type();
  }

  /** An argument as a segment. */
  record Segment(int parameter) implements Slot {
    @Override
    public ClassDesc type() {
      return JvmNames.SEGMENT;
    }
  }

  /** The elements of a shared array. */
  record Shared(KernelArray.Shared array) implements Slot {
    @Override
    public ClassDesc type() {
      return JvmNames.array(array.kind());
    }
  }

  /** For each item of a group, the elements of a private array. */
  record Rows(KernelArray.Private array) implements Slot {
    @Override
    public ClassDesc type() {
      return JvmNames.array(array.kind()).arrayType();
    }
  }

  /**
   * For each item of a group, the value of a variable, or the item's state in {@link ParkedItems}.
   */
  record Kept(int variable, ValueType value) implements Slot {
    /** The states in {@link ParkedItems}, in place of a variable. */
    static final Kept RETURNED = new Kept(-1, ValueType.INT);

    @Override
    public ClassDesc type() {
      return JvmNames.type(value).arrayType();
    }
  }

  /**
   * A number that generated code receives: the value of a scalar argument, or the length or the
   * address of an array argument.
   */
  record Scalar(int parameter, Use use) {
    enum Use {
      VALUE,
      LENGTH,
      ADDRESS
    }
  }

  List<Slot> slots() {
    return slots;
  }

  List<Scalar> scalars() {
    return scalars;
  }

  /** Adds a slot, unless it is present. */
  void need(Slot slot) {
    if (!slots.contains(slot)) {
      slots.add(slot);
    }
  }

  /** Returns the type of a number. */
  ValueType type(Scalar scalar) {
    return switch (scalar.use()) {
      case VALUE -> tree.parameters().get(scalar.parameter()).kind().loaded();
      case LENGTH -> ValueType.INT;
      case ADDRESS -> ValueType.LONG;
    };
  }

  void need(Scalar scalar) {
    if (!scalars.contains(scalar)) {
      scalars.add(scalar);
    }
  }

  /** Returns the arrays of one thread, for groups of {@code items} items. */
  Object[] memory(@Nullable MemorySegment[] arrays, long items) {
    Object[] memory = new Object[slots.size()];
    for (int i = 0; i < memory.length; i++) {
      memory[i] =
          switch (slots.get(i)) {
            case Segment(int parameter) -> segment(arrays, parameter);
            case Shared(KernelArray.Shared array) -> heap(array.kind(), array.length());
            case Rows(KernelArray.Private array) -> {
              Object[] rows =
                  (Object[])
                      Array.newInstance(heap(array.kind(), 0).getClass(), Math.toIntExact(items));
              for (int item = 0; item < rows.length; item++) {
                rows[item] = heap(array.kind(), array.length());
              }
              yield rows;
            }
            case Kept(_, ValueType value) -> {
              int length = Math.toIntExact(items);
              yield switch (value) {
                case INT -> new int[length];
                case LONG -> new long[length];
                case FLOAT -> new float[length];
                case DOUBLE -> new double[length];
              };
            }
          };
    }
    return memory;
  }

  /** Returns the raw bits of the numbers. */
  long[] numbers(@Nullable MemorySegment[] arrays, @Nullable Object[] values) {
    long[] numbers = new long[scalars.size()];
    for (int i = 0; i < numbers.length; i++) {
      Scalar scalar = scalars.get(i);
      int parameter = scalar.parameter();
      ElementKind kind = tree.parameters().get(parameter).kind();
      numbers[i] =
          switch (scalar.use()) {
            case VALUE -> bits(kind, given(values[parameter], parameter));
            case LENGTH -> length(segment(arrays, parameter), parameter);
            case ADDRESS -> segment(arrays, parameter).address();
          };
    }
    return numbers;
  }

  private long length(MemorySegment segment, int parameter) {
    KernelTree.Parameter array = tree.parameters().get(parameter);
    long length = segment.byteSize() / array.kind().bytes();
    if (length > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          "argument '%s' of kernel %s has %s elements, and an index of Java has up to %s; pass a slice"
              .formatted(array.name(), tree.methodName(), length, Integer.MAX_VALUE));
    }
    return length;
  }

  private MemorySegment segment(@Nullable MemorySegment[] arrays, int parameter) {
    return given(arrays[parameter], parameter);
  }

  private <T> T given(@Nullable T argument, int parameter) {
    if (argument == null) {
      throw new IllegalArgumentException(
          "argument '%s' of kernel %s is missing"
              .formatted(tree.parameters().get(parameter).name(), tree.methodName()));
    }
    return argument;
  }

  /** Returns the raw bits of a scalar. */
  static long bits(ElementKind kind, Object value) {
    return switch (kind) {
      case BOOLEAN -> value instanceof Boolean truth && truth ? 1 : 0;
      case FLOAT -> Float.floatToRawIntBits(((Number) value).floatValue());
      case DOUBLE -> Double.doubleToRawLongBits(((Number) value).doubleValue());
      default -> ((Number) value).longValue();
    };
  }

  private static Object heap(ElementKind kind, int length) {
    return switch (kind) {
      case BOOLEAN, BYTE -> new byte[length];
      case SHORT -> new short[length];
      case INT -> new int[length];
      case LONG -> new long[length];
      case FLOAT -> new float[length];
      case DOUBLE -> new double[length];
    };
  }
}
