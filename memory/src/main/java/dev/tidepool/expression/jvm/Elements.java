package dev.tidepool.expression.jvm;

import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Known;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;

/** Writes how generated code accesses the current element of a slot. */
sealed interface Elements {
  /** Pushes the place of the element. */
  void locate(CodeBuilder code, int slot, ScalarType type);

  /** Replaces the place on the stack by the element there. */
  void load(CodeBuilder code, ScalarType type);

  /** Stores the value on the stack at the place below it. */
  void store(CodeBuilder code, ScalarType type);

  /**
   * Elements of Java arrays.
   *
   * @param arrays the local variable of each slot's array
   * @param index the local variable of the index, an int
   */
  record OfArrays(Map<Integer, Integer> arrays, int index) implements Elements {
    @Override
    public void locate(CodeBuilder code, int slot, ScalarType type) {
      code.aload(Known.in(arrays, slot)).iload(index);
    }

    @Override
    public void load(CodeBuilder code, ScalarType type) {
      code.arrayLoad(JvmTypes.element(type));
    }

    @Override
    public void store(CodeBuilder code, ScalarType type) {
      code.arrayStore(JvmTypes.element(type));
    }
  }

  /**
   * Elements of memory segments, of four or eight bytes.
   *
   * @param segments the local variable of each slot's segment
   * @param index the local variable of the index, a long
   */
  record OfMemory(Map<Integer, Integer> segments, int index) implements Elements {
    private static final ClassDesc SEGMENT = MemorySegment.class.describeConstable().orElseThrow();
    private static final ClassDesc LAYOUTS = ValueLayout.class.describeConstable().orElseThrow();

    @Override
    public void locate(CodeBuilder code, int slot, ScalarType type) {
      code.aload(Known.in(segments, slot));
      code.getstatic(LAYOUTS, "JAVA_" + JvmTypes.kind(type) + "_UNALIGNED", layout(type));
      code.lload(index);
    }

    @Override
    public void load(CodeBuilder code, ScalarType type) {
      ClassDesc kind = JvmTypes.kind(type).upperBound();
      code.invokeinterface(SEGMENT, "getAtIndex", MethodTypeDesc.of(kind, layout(type), CD_long));
    }

    @Override
    public void store(CodeBuilder code, ScalarType type) {
      ClassDesc kind = JvmTypes.kind(type).upperBound();
      code.invokeinterface(
          SEGMENT, "setAtIndex", MethodTypeDesc.of(CD_void, layout(type), CD_long, kind));
    }

    private static ClassDesc layout(ScalarType type) {
      Class<? extends ValueLayout> layout =
          switch (JvmTypes.kind(type)) {
            case LONG -> ValueLayout.OfLong.class;
            case FLOAT -> ValueLayout.OfFloat.class;
            case DOUBLE -> ValueLayout.OfDouble.class;
            default -> ValueLayout.OfInt.class;
          };
      return layout.describeConstable().orElseThrow();
    }
  }
}
