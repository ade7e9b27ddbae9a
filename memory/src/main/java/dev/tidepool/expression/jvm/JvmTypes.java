package dev.tidepool.expression.jvm;

import static java.lang.constant.ConstantDescs.CD_double;
import static java.lang.constant.ConstantDescs.CD_float;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;

/**
 * The representation of each type in the virtual machine: as a local value and as an array's
 * element.
 */
final class JvmTypes {
  private static final ClassDesc FLOAT_BOX = Float.class.describeConstable().orElseThrow();
  private static final ClassDesc DOUBLE_BOX = Double.class.describeConstable().orElseThrow();
  private static final MethodTypeDesc BITS_F = MethodTypeDesc.of(CD_float, CD_int);
  private static final MethodTypeDesc BITS_D = MethodTypeDesc.of(CD_double, CD_long);

  private JvmTypes() {}

  /** Returns the kind of a value on the stack. */
  static TypeKind kind(ScalarType type) {
    return switch (type) {
      case INT64, UINT64 -> TypeKind.LONG;
      case FLOAT32 -> TypeKind.FLOAT;
      case FLOAT64 -> TypeKind.DOUBLE;
      default -> TypeKind.INT;
    };
  }

  /** Returns the kind of an element; {@code char} is Java's unsigned type of 16 bits. */
  static TypeKind element(ScalarType type) {
    return switch (type) {
      case BOOL, INT8, UINT8 -> TypeKind.BYTE;
      case INT16 -> TypeKind.SHORT;
      case UINT16 -> TypeKind.CHAR;
      default -> kind(type);
    };
  }

  /** Replaces raw bits on the stack, a long, by their value. */
  static void fromBits(CodeBuilder code, TypeKind kind) {
    switch (kind) {
      case INT -> code.l2i();
      case FLOAT -> code.l2i().invokestatic(FLOAT_BOX, "intBitsToFloat", BITS_F);
      case DOUBLE -> code.invokestatic(DOUBLE_BOX, "longBitsToDouble", BITS_D);
      default -> {}
    }
  }

  /** Returns a new array for elements of a type. */
  static Object array(ScalarType type, int length) {
    return switch (element(type)) {
      case BYTE -> new byte[length];
      case SHORT -> new short[length];
      case CHAR -> new char[length];
      case INT -> new int[length];
      case LONG -> new long[length];
      case FLOAT -> new float[length];
      default -> new double[length];
    };
  }

  /** Returns the memory of an array returned by {@link #array}. */
  static MemorySegment segment(Object array) {
    // Not a pattern switch, which would be linked again in every process.
    if (array instanceof float[] floats) {
      return MemorySegment.ofArray(floats);
    }
    if (array instanceof double[] doubles) {
      return MemorySegment.ofArray(doubles);
    }
    if (array instanceof int[] ints) {
      return MemorySegment.ofArray(ints);
    }
    if (array instanceof long[] longs) {
      return MemorySegment.ofArray(longs);
    }
    if (array instanceof byte[] bytes) {
      return MemorySegment.ofArray(bytes);
    }
    return array instanceof short[] shorts
        ? MemorySegment.ofArray(shorts)
        : MemorySegment.ofArray((char[]) array);
  }
}
