package dev.tidepool.methods.jvm;

import static java.lang.constant.ConstantDescs.CD_int;

import dev.tidepool.methods.jvm.MemoryPlan.Scalar.Use;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.ValueType;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.Opcode;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;

/** Writes expressions as instructions of the Java virtual machine. */
final class BytecodeExpressionWriter {
  private final CodeBuilder code;
  private final Frame frame;

  BytecodeExpressionWriter(CodeBuilder code, Frame frame) {
    this.code = code;
    this.frame = frame;
  }

  /** Pushes the value of an expression. */
  void push(KernelExpression expression) {
    switch (expression) {
      case KernelExpression.Constant constant -> constant(constant);
      case KernelExpression.Read(var variable) ->
          code.loadLocal(JvmNames.kind(variable.type()), frame.of(variable));
      case KernelExpression.ScalarArgument argument ->
          code.loadLocal(
              JvmNames.kind(argument.type()),
              frame.of(new MemoryPlan.Scalar(argument.index(), Use.VALUE)));
      case KernelExpression.ItemNumber number -> frame.push(number);
      case KernelExpression.Length(KernelArray array) -> length(array);
      case KernelExpression.Negate(KernelExpression operand) -> {
        push(operand);
        switch (operand.type()) {
          case INT -> code.ineg();
          case LONG -> code.lneg();
          case FLOAT -> code.fneg();
          case DOUBLE -> code.dneg();
        }
      }
      case KernelExpression.Convert(Conversion conversion, KernelExpression operand) -> {
        if (conversion == Conversion.L2I && operand instanceof KernelExpression.ItemNumber number) {
          frame.pushInt(number);
        } else {
          push(operand);
          convert(conversion);
        }
      }
      case KernelExpression.Binary(
              Operator operator,
              KernelExpression left,
              KernelExpression right) -> {
        push(left);
        push(right);
        binary(operator, left.type());
      }
      case KernelExpression.Compare compare -> {
        Label holds = code.newLabel();
        Label end = code.newLabel();
        jump(compare, true, holds);
        code.iconst_0().goto_(end).labelBinding(holds).iconst_1().labelBinding(end);
      }
      case KernelExpression.Order(KernelExpression left, KernelExpression right, int unordered) -> {
        push(left);
        push(right);
        order(left.type(), unordered);
      }
      case KernelExpression.Call(Function function, var arguments) -> {
        arguments.forEach(this::push);
        code.invokestatic(
            ClassDesc.of(function.owner()),
            function.method(),
            MethodTypeDesc.of(
                JvmNames.type(function.result()),
                function.parameters().stream().map(JvmNames::type).toList()));
      }
    }
  }

  /** Pushes the length of an array. */
  void length(KernelArray array) {
    switch (array) {
      case KernelArray.Argument argument ->
          code.iload(frame.of(new MemoryPlan.Scalar(argument.index(), Use.LENGTH)));
      case KernelArray.Private(_, _, int length) -> code.loadConstant(length);
      case KernelArray.Shared(_, _, int length) -> code.loadConstant(length);
    }
  }

  /** Jumps if an int is not 0, or if it is 0. */
  void jump(KernelExpression condition, boolean ifTrue, Label target) {
    if (condition instanceof KernelExpression.Compare compare) {
      jump(compare, ifTrue != compare.negated(), compare.comparison(), target);
    } else if (condition instanceof KernelExpression.Binary(Operator operator, var left, var right)
        && (operator == Operator.AND || operator == Operator.OR)
        && isTruth(condition)) {
      // Values are computed without effects: the second is not needed if the first decides.
      boolean decides = operator == Operator.OR;
      if (ifTrue == decides) {
        jump(left, ifTrue, target);
        jump(right, ifTrue, target);
      } else {
        Label decided = code.newLabel();
        jump(left, decides, decided);
        jump(right, ifTrue, target);
        code.labelBinding(decided);
      }
    } else {
      push(condition);
      code.branch(ifTrue ? Opcode.IFNE : Opcode.IFEQ, target);
    }
  }

  /** Returns whether a value is always 0 or 1. */
  private static boolean isTruth(KernelExpression value) {
    return switch (value) {
      case KernelExpression.Compare _ -> true;
      case KernelExpression.Binary(Operator operator, var left, var right) ->
          (operator == Operator.AND || operator == Operator.OR) && isTruth(left) && isTruth(right);
      default -> false;
    };
  }

  private void jump(
      KernelExpression.Compare compare, boolean ifHolds, Comparison comparison, Label target) {
    ValueType type = compare.left().type();
    push(compare.left());
    boolean isZero =
        type == ValueType.INT
            && compare.right() instanceof KernelExpression.Constant constant
            && constant.bits() == 0;
    if (!isZero) {
      push(compare.right());
    }
    if (type == ValueType.INT && !isZero) {
      code.branch(intJump(comparison, ifHolds), target);
      return;
    }
    if (type != ValueType.INT) {
      // NaN is neither less nor greater: the order is chosen so that the comparison does not hold.
      boolean isLess = comparison == Comparison.LESS || comparison == Comparison.LESS_EQUAL;
      order(type, isLess ? 1 : -1);
    }
    code.branch(zeroJump(comparison, ifHolds), target);
  }

  private static Opcode intJump(Comparison comparison, boolean ifHolds) {
    return switch (comparison) {
      case EQUAL -> ifHolds ? Opcode.IF_ICMPEQ : Opcode.IF_ICMPNE;
      case NOT_EQUAL -> ifHolds ? Opcode.IF_ICMPNE : Opcode.IF_ICMPEQ;
      case LESS -> ifHolds ? Opcode.IF_ICMPLT : Opcode.IF_ICMPGE;
      case LESS_EQUAL -> ifHolds ? Opcode.IF_ICMPLE : Opcode.IF_ICMPGT;
      case GREATER -> ifHolds ? Opcode.IF_ICMPGT : Opcode.IF_ICMPLE;
      case GREATER_EQUAL -> ifHolds ? Opcode.IF_ICMPGE : Opcode.IF_ICMPLT;
    };
  }

  private static Opcode zeroJump(Comparison comparison, boolean ifHolds) {
    return switch (comparison) {
      case EQUAL -> ifHolds ? Opcode.IFEQ : Opcode.IFNE;
      case NOT_EQUAL -> ifHolds ? Opcode.IFNE : Opcode.IFEQ;
      case LESS -> ifHolds ? Opcode.IFLT : Opcode.IFGE;
      case LESS_EQUAL -> ifHolds ? Opcode.IFLE : Opcode.IFGT;
      case GREATER -> ifHolds ? Opcode.IFGT : Opcode.IFLE;
      case GREATER_EQUAL -> ifHolds ? Opcode.IFGE : Opcode.IFLT;
    };
  }

  private void constant(KernelExpression.Constant constant) {
    long bits = constant.bits();
    switch (constant.type()) {
      case INT -> code.loadConstant((int) bits);
      case LONG -> code.loadConstant(bits);
      case FLOAT -> code.loadConstant(Float.intBitsToFloat((int) bits));
      case DOUBLE -> code.loadConstant(Double.longBitsToDouble(bits));
    }
  }

  private void convert(Conversion conversion) {
    switch (conversion) {
      case I2B -> code.i2b();
      case I2C -> code.i2c();
      case I2S -> code.i2s();
      case I2L -> code.i2l();
      case I2F -> code.i2f();
      case I2D -> code.i2d();
      case L2I -> code.l2i();
      case L2F -> code.l2f();
      case L2D -> code.l2d();
      case F2I -> code.f2i();
      case F2L -> code.f2l();
      case F2D -> code.f2d();
      case D2I -> code.d2i();
      case D2L -> code.d2l();
      case D2F -> code.d2f();
    }
  }

  private void order(ValueType type, int unordered) {
    switch (type) {
      case INT ->
          code.invokestatic(
              JvmNames.of(Integer.class), "compare", MethodTypeDesc.of(CD_int, CD_int, CD_int));
      case LONG -> code.lcmp();
      case FLOAT -> {
        if (unordered > 0) {
          code.fcmpg();
        } else {
          code.fcmpl();
        }
      }
      case DOUBLE -> {
        if (unordered > 0) {
          code.dcmpg();
        } else {
          code.dcmpl();
        }
      }
    }
  }

  private void binary(Operator operator, ValueType type) {
    switch (type) {
      case INT -> {
        switch (operator) {
          case ADD -> code.iadd();
          case SUBTRACT -> code.isub();
          case MULTIPLY -> code.imul();
          case AND -> code.iand();
          case OR -> code.ior();
          case XOR -> code.ixor();
          case SHIFT_LEFT -> code.ishl();
          case SHIFT_RIGHT -> code.ishr();
          case SHIFT_RIGHT_UNSIGNED -> code.iushr();
          case DIVIDE, REMAINDER -> throw quotient(operator);
        }
      }
      case LONG -> {
        switch (operator) {
          case ADD -> code.ladd();
          case SUBTRACT -> code.lsub();
          case MULTIPLY -> code.lmul();
          case AND -> code.land();
          case OR -> code.lor();
          case XOR -> code.lxor();
          case SHIFT_LEFT -> code.lshl();
          case SHIFT_RIGHT -> code.lshr();
          case SHIFT_RIGHT_UNSIGNED -> code.lushr();
          case DIVIDE, REMAINDER -> throw quotient(operator);
        }
      }
      case FLOAT -> {
        switch (operator) {
          case ADD -> code.fadd();
          case SUBTRACT -> code.fsub();
          case MULTIPLY -> code.fmul();
          case DIVIDE -> code.fdiv();
          case REMAINDER -> code.frem();
          default -> throw new IllegalArgumentException(operator + " of floats");
        }
      }
      case DOUBLE -> {
        switch (operator) {
          case ADD -> code.dadd();
          case SUBTRACT -> code.dsub();
          case MULTIPLY -> code.dmul();
          case DIVIDE -> code.ddiv();
          case REMAINDER -> code.drem();
          default -> throw new IllegalArgumentException(operator + " of doubles");
        }
      }
    }
  }

  private static IllegalArgumentException quotient(Operator operator) {
    return new IllegalArgumentException(operator + " of integers is a statement");
  }
}
