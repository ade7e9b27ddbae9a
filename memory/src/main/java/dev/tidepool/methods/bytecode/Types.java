package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.KernelExpression.Order;
import dev.tidepool.methods.tree.ValueType;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.util.Optional;

/** Maps types and operators of bytecode to those of trees. */
final class Types {
  private Types() {}

  /** Returns the type of a value on the stack. */
  static ValueType of(TypeKind kind) {
    return switch (kind.asLoadable()) {
      case INT -> ValueType.INT;
      case LONG -> ValueType.LONG;
      case FLOAT -> ValueType.FLOAT;
      case DOUBLE -> ValueType.DOUBLE;
      default -> throw new AssertionError(kind);
    };
  }

  /** Returns the elements of a new array of primitives. */
  static ElementKind elements(TypeKind kind) {
    return ElementKind.valueOf(kind.name());
  }

  /** Returns the type of elements or of a scalar; empty for {@code char} and for references. */
  static Optional<ElementKind> primitive(ClassDesc type) {
    return switch (type.descriptorString()) {
      case "Z" -> Optional.of(ElementKind.BOOLEAN);
      case "B" -> Optional.of(ElementKind.BYTE);
      case "S" -> Optional.of(ElementKind.SHORT);
      case "I" -> Optional.of(ElementKind.INT);
      case "J" -> Optional.of(ElementKind.LONG);
      case "F" -> Optional.of(ElementKind.FLOAT);
      case "D" -> Optional.of(ElementKind.DOUBLE);
      default -> Optional.empty();
    };
  }

  /** Returns the operator of an instruction with two operands that cannot fail. */
  static Operator operator(Opcode opcode) {
    return switch (opcode) {
      case IADD, LADD, FADD, DADD -> Operator.ADD;
      case ISUB, LSUB, FSUB, DSUB -> Operator.SUBTRACT;
      case IMUL, LMUL, FMUL, DMUL -> Operator.MULTIPLY;
      case FDIV, DDIV -> Operator.DIVIDE;
      case FREM, DREM -> Operator.REMAINDER;
      case IAND, LAND -> Operator.AND;
      case IOR, LOR -> Operator.OR;
      case IXOR, LXOR -> Operator.XOR;
      case ISHL, LSHL -> Operator.SHIFT_LEFT;
      case ISHR, LSHR -> Operator.SHIFT_RIGHT;
      case IUSHR, LUSHR -> Operator.SHIFT_RIGHT_UNSIGNED;
      default -> throw new AssertionError(opcode);
    };
  }

  /** Returns a comparison of an order to 0 as a comparison of the two values themselves. */
  static Compare ordered(Order order, Comparison comparison) {
    // If a value is NaN, the order is `unordered`; longs are never NaN.
    boolean isGreater = order.unordered() > 0;
    return switch (comparison) {
      case EQUAL, NOT_EQUAL, LESS, LESS_EQUAL ->
          comparison == Comparison.LESS && !isGreater
              ? opposite(order, Comparison.GREATER_EQUAL)
              : comparison == Comparison.LESS_EQUAL && !isGreater
                  ? opposite(order, Comparison.GREATER)
                  : direct(order, comparison);
      case GREATER ->
          isGreater ? opposite(order, Comparison.LESS_EQUAL) : direct(order, comparison);
      case GREATER_EQUAL ->
          isGreater ? opposite(order, Comparison.LESS) : direct(order, comparison);
    };
  }

  private static Compare direct(Order order, Comparison comparison) {
    return new Compare(comparison, order.left(), order.right(), false);
  }

  private static Compare opposite(Order order, Comparison comparison) {
    return new Compare(comparison, order.left(), order.right(), true);
  }
}
