package dev.tidepool.expression.jvm;

import static java.lang.constant.ConstantDescs.CD_double;
import static java.lang.constant.ConstantDescs.CD_float;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;

import dev.tidepool.expression.math.DoubleFunctions;
import dev.tidepool.expression.math.ElementMath;
import dev.tidepool.expression.math.FloatFunctions;
import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.Collections;
import java.util.List;

/**
 * Writes single operations as bytecode, with operands on the stack. Integers below 32 bits are ints
 * that are extended by their sign or by zeros. Unsigned 32- and 64-bit integers are Java's int and
 * long. Booleans are 0 or 1.
 */
final class ElementWriter {
  private static final ClassDesc MATH = Math.class.describeConstable().orElseThrow();
  private static final ClassDesc ELEMENT_MATH = ElementMath.class.describeConstable().orElseThrow();

  private ElementWriter() {}

  static void constant(CodeBuilder code, Node node) {
    long bits = node.payload();
    switch (JvmTypes.kind(node.type())) {
      case LONG -> code.loadConstant(bits);
      case FLOAT -> code.loadConstant(Float.intBitsToFloat((int) bits));
      case DOUBLE -> code.loadConstant(Double.longBitsToDouble(bits));
      default -> code.loadConstant((int) bits);
    }
  }

  /** Converts an element that was just loaded to a proper value of its type. */
  static void afterLoad(CodeBuilder code, Node node) {
    switch (node.type()) {
      case UINT8 -> code.sipush(255).iand();
      case BOOL -> {
        if (node.op() == Op.LOAD) {
          // (b | -b) >>> 31: 1 for all but 0, without a branch.
          code.dup().ineg().ior().bipush(31).iushr();
        }
      }
      default -> {}
    }
  }

  /** Narrows an int result to the width of its type. */
  private static void narrow(CodeBuilder code, ScalarType type) {
    switch (type) {
      case INT8 -> code.i2b();
      case INT16 -> code.i2s();
      case UINT8 -> code.sipush(255).iand();
      case UINT16 -> code.i2c();
      default -> {}
    }
  }

  static void function(CodeBuilder code, Node node) {
    ClassDesc owner =
        (node.type() == ScalarType.FLOAT32 ? FloatFunctions.class : DoubleFunctions.class)
            .describeConstable()
            .orElseThrow();
    call(code, owner, node.op().functionName(), node.type(), node.args().size());
  }

  static void write(CodeBuilder code, Node node) {
    ScalarType type = node.operandType();
    switch (node.op()) {
      case CONVERT -> convert(code, type, node.type());
      case NOT -> code.iconst_1().ixor();
      case INVERT -> invert(code, type);
      case NEGATE -> negate(code, type);
      case ADD, SUBTRACT, MULTIPLY, DIVIDE, BIT_AND, BIT_OR, BIT_XOR, LOGICAL_AND, LOGICAL_OR ->
          arithmetic(code, node.op(), type);
      case FLOOR_DIVIDE -> helper(code, "floorDivide", type);
      case REMAINDER -> helper(code, "remainder", type);
      case POW -> helper(code, "pow", type);
      case SHIFT_LEFT -> call(code, ELEMENT_MATH, "shiftLeft", type, 2);
      case SHIFT_RIGHT -> helper(code, "shiftRight", type);
      case LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL ->
          compare(code, node.op(), type);
      case SELECT -> select(code, type);
      case ABS -> call(code, MATH, "abs", type, 1);
      case MIN, MAX -> extreme(code, node.op(), type);
      case FLOOR, CEIL, RINT, SQRT -> viaDouble(code, node.op().functionName(), type);
      case FMA -> call(code, MATH, "fma", type, 3);
      default -> throw new AssertionError(node);
    }
    if (!node.op().isComparison() && node.op() != Op.CONVERT) {
      narrow(code, node.type());
    }
  }

  private static void call(
      CodeBuilder code, ClassDesc owner, String name, ScalarType type, int arity) {
    ClassDesc kind = JvmTypes.kind(type).upperBound();
    code.invokestatic(owner, name, MethodTypeDesc.of(kind, Collections.nCopies(arity, kind)));
  }

  /** Calls a method of ElementMath, in its unsigned form if that differs for the type. */
  private static void helper(CodeBuilder code, String name, ScalarType type) {
    call(
        code,
        ELEMENT_MATH,
        type.isUnsigned() && usesUnsigned(name, type) ? name + "Unsigned" : name,
        type,
        2);
  }

  private static boolean usesUnsigned(String name, ScalarType type) {
    return type.byteSize() >= 4 || name.equals("pow") || name.equals("shiftRight");
  }

  private static void invert(CodeBuilder code, ScalarType type) {
    if (type == ScalarType.BOOL) {
      code.iconst_1().ixor();
    } else if (JvmTypes.kind(type) == TypeKind.LONG) {
      code.loadConstant(-1L).lxor();
    } else {
      code.iconst_m1().ixor();
    }
  }

  private static void negate(CodeBuilder code, ScalarType type) {
    switch (JvmTypes.kind(type)) {
      case LONG -> code.lneg();
      case FLOAT -> code.fneg();
      case DOUBLE -> code.dneg();
      default -> code.ineg();
    }
  }

  private static void arithmetic(CodeBuilder code, Op op, ScalarType type) {
    Op meant =
        type != ScalarType.BOOL
            ? op
            : switch (op) {
              case ADD, LOGICAL_OR -> Op.BIT_OR;
              case MULTIPLY, LOGICAL_AND -> Op.BIT_AND;
              default -> op;
            };
    switch (JvmTypes.kind(type)) {
      case LONG -> {
        switch (meant) {
          case ADD -> code.ladd();
          case SUBTRACT -> code.lsub();
          case MULTIPLY -> code.lmul();
          case BIT_AND -> code.land();
          case BIT_OR -> code.lor();
          default -> code.lxor();
        }
      }
      case FLOAT -> {
        switch (meant) {
          case ADD -> code.fadd();
          case SUBTRACT -> code.fsub();
          case MULTIPLY -> code.fmul();
          default -> code.fdiv();
        }
      }
      case DOUBLE -> {
        switch (meant) {
          case ADD -> code.dadd();
          case SUBTRACT -> code.dsub();
          case MULTIPLY -> code.dmul();
          default -> code.ddiv();
        }
      }
      default -> {
        switch (meant) {
          case ADD -> code.iadd();
          case SUBTRACT -> code.isub();
          case MULTIPLY -> code.imul();
          case BIT_AND -> code.iand();
          case BIT_OR -> code.ior();
          default -> code.ixor();
        }
      }
    }
  }

  private static void compare(CodeBuilder code, Op op, ScalarType type) {
    if (op == Op.GREATER || op == Op.GREATER_EQUAL) {
      if (JvmTypes.kind(type).slotSize() == 1) {
        code.swap();
      } else {
        code.dup2_x2().pop2();
      }
    }
    boolean unsigned = type == ScalarType.UINT32 || type == ScalarType.UINT64;
    String name =
        switch (op) {
          case LESS, GREATER -> unsigned ? "lessUnsigned" : "less";
          case LESS_EQUAL, GREATER_EQUAL -> unsigned ? "lessEqualUnsigned" : "lessEqual";
          case EQUAL -> "equal";
          default -> "notEqual";
        };
    ClassDesc kind = JvmTypes.kind(type).upperBound();
    code.invokestatic(ELEMENT_MATH, name, MethodTypeDesc.of(CD_int, kind, kind));
  }

  private static void select(CodeBuilder code, ScalarType type) {
    ClassDesc kind = JvmTypes.kind(type).upperBound();
    code.invokestatic(ELEMENT_MATH, "select", MethodTypeDesc.of(kind, CD_int, kind, kind));
  }

  private static void extreme(CodeBuilder code, Op op, ScalarType type) {
    String name = op.functionName();
    if (type == ScalarType.UINT32 || type == ScalarType.UINT64) {
      call(code, ELEMENT_MATH, name + "Unsigned", type, 2);
    } else {
      call(code, MATH, name, type, 2);
    }
  }

  /**
   * Computes in double, which is exact, so that one rounding gives the exact float; the compiler
   * recognizes the pattern.
   */
  private static void viaDouble(CodeBuilder code, String name, ScalarType type) {
    if (type == ScalarType.FLOAT32) {
      code.f2d();
    }
    call(code, MATH, name, ScalarType.FLOAT64, 1);
    if (type == ScalarType.FLOAT32) {
      code.d2f();
    }
  }

  private static void convert(CodeBuilder code, ScalarType from, ScalarType to) {
    TypeKind source = JvmTypes.kind(from);
    if (to == ScalarType.BOOL) {
      code.invokestatic(
          ELEMENT_MATH, "truth", MethodTypeDesc.of(CD_int, List.of(source.upperBound())));
      return;
    }
    TypeKind target = JvmTypes.kind(to);
    if (from == ScalarType.UINT64 && to.isFloating()) {
      boolean single = to == ScalarType.FLOAT32;
      code.invokestatic(
          ELEMENT_MATH,
          single ? "unsignedToFloat" : "unsignedToDouble",
          MethodTypeDesc.of(single ? CD_float : CD_double, CD_long));
      return;
    }
    if (from == ScalarType.UINT32 && target != TypeKind.INT) {
      code.i2l().loadConstant(0xffffffffL).land();
      source = TypeKind.LONG;
    }
    if (source != target) {
      code.conversion(source, target);
    }
    if (target == TypeKind.INT) {
      narrow(code, to);
    }
  }
}
