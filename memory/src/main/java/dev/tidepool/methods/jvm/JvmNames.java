package dev.tidepool.methods.jvm;

import static java.lang.constant.ConstantDescs.CD_double;
import static java.lang.constant.ConstantDescs.CD_float;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;

import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.ValueType;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Names the types of trees in class files. */
final class JvmNames {
  static final ClassDesc SEGMENT = of(MemorySegment.class);
  static final ClassDesc LAYOUT = of(ValueLayout.class);

  private JvmNames() {}

  static ClassDesc of(Class<?> type) {
    return type.describeConstable().orElseThrow();
  }

  static TypeKind kind(ValueType type) {
    return switch (type) {
      case INT -> TypeKind.INT;
      case LONG -> TypeKind.LONG;
      case FLOAT -> TypeKind.FLOAT;
      case DOUBLE -> TypeKind.DOUBLE;
    };
  }

  static ClassDesc type(ValueType type) {
    return switch (type) {
      case INT -> CD_int;
      case LONG -> CD_long;
      case FLOAT -> CD_float;
      case DOUBLE -> CD_double;
    };
  }

  /** Returns the element type of arrays on the heap; booleans are bytes. */
  static TypeKind element(ElementKind kind) {
    return switch (kind) {
      case BOOLEAN, BYTE -> TypeKind.BYTE;
      case SHORT -> TypeKind.SHORT;
      case INT -> TypeKind.INT;
      case LONG -> TypeKind.LONG;
      case FLOAT -> TypeKind.FLOAT;
      case DOUBLE -> TypeKind.DOUBLE;
    };
  }

  /** Returns the type of an array on the heap. */
  static ClassDesc array(ElementKind kind) {
    return element(kind).upperBound().arrayType();
  }

  /** Returns the type of the layout of elements in segments. */
  static ClassDesc layoutType(ElementKind kind) {
    return of(
        switch (kind) {
          case BOOLEAN, BYTE -> ValueLayout.OfByte.class;
          case SHORT -> ValueLayout.OfShort.class;
          case INT -> ValueLayout.OfInt.class;
          case LONG -> ValueLayout.OfLong.class;
          case FLOAT -> ValueLayout.OfFloat.class;
          case DOUBLE -> ValueLayout.OfDouble.class;
        });
  }

  /** Returns the constant of {@link ValueLayout} for elements at any address. */
  static String layoutName(ElementKind kind) {
    return switch (kind) {
      case BOOLEAN, BYTE -> "JAVA_BYTE";
      default -> "JAVA_" + kind.name() + "_UNALIGNED";
    };
  }
}
