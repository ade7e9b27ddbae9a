package dev.tidepool.expression.syntax;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The operations of typed trees: operators and functions. */
public enum Op {
  LOAD(Shape.LEAF, 0),
  CONSTANT(Shape.LEAF, 0),
  UNIFORM(Shape.LEAF, 0),
  CONVERT(Shape.INLINE, 1),

  NEGATE(Shape.INLINE, 1),
  NOT(Shape.INLINE, 1),
  INVERT(Shape.INLINE, 1),
  ADD(Shape.INLINE, 2),
  SUBTRACT(Shape.INLINE, 2),
  MULTIPLY(Shape.INLINE, 2),
  DIVIDE(Shape.INLINE, 2),
  FLOOR_DIVIDE(Shape.INLINE, 2),
  REMAINDER(Shape.INLINE, 2),
  SHIFT_LEFT(Shape.INLINE, 2),
  SHIFT_RIGHT(Shape.INLINE, 2),
  BIT_AND(Shape.INLINE, 2),
  BIT_OR(Shape.INLINE, 2),
  BIT_XOR(Shape.INLINE, 2),
  LOGICAL_AND(Shape.INLINE, 2),
  LOGICAL_OR(Shape.INLINE, 2),
  LESS(Shape.INLINE, 2),
  LESS_EQUAL(Shape.INLINE, 2),
  GREATER(Shape.INLINE, 2),
  GREATER_EQUAL(Shape.INLINE, 2),
  EQUAL(Shape.INLINE, 2),
  NOT_EQUAL(Shape.INLINE, 2),
  SELECT(Shape.INLINE, 3),

  ABS(Shape.NAMED_INLINE, 1),
  MIN(Shape.NAMED_INLINE, 2),
  MAX(Shape.NAMED_INLINE, 2),
  FLOOR(Shape.NAMED_INLINE, 1),
  CEIL(Shape.NAMED_INLINE, 1),
  RINT(Shape.NAMED_INLINE, 1),
  SQRT(Shape.NAMED_INLINE, 1),
  FMA(Shape.NAMED_INLINE, 3),

  CBRT(Shape.FUNCTION, 1),
  EXP(Shape.FUNCTION, 1),
  EXP2(Shape.FUNCTION, 1),
  EXPM1(Shape.FUNCTION, 1),
  LOG(Shape.FUNCTION, 1),
  LOG2(Shape.FUNCTION, 1),
  LOG10(Shape.FUNCTION, 1),
  LOG1P(Shape.FUNCTION, 1),
  SIN(Shape.FUNCTION, 1),
  COS(Shape.FUNCTION, 1),
  TAN(Shape.FUNCTION, 1),
  ASIN(Shape.FUNCTION, 1),
  ACOS(Shape.FUNCTION, 1),
  ATAN(Shape.FUNCTION, 1),
  ATAN2(Shape.FUNCTION, 2),
  SINH(Shape.FUNCTION, 1),
  COSH(Shape.FUNCTION, 1),
  TANH(Shape.FUNCTION, 1),
  POW(Shape.FUNCTION, 2),
  HYPOT(Shape.FUNCTION, 2);

  /** How an operation is written in sources, and how the CPU computes it. */
  public enum Shape {
    LEAF,
    /** Written as an operator; computed inside a loop. */
    INLINE,
    /** Written as a function; computed inside a loop. */
    NAMED_INLINE,
    /** Written as a function; computed by a routine over a whole block. */
    FUNCTION
  }

  /** The functions of the language, by name. */
  public static final Map<String, Op> FUNCTIONS =
      Arrays.stream(values())
          .filter(
              op -> op.shape == Shape.NAMED_INLINE || op.shape == Shape.FUNCTION || op == SELECT)
          .collect(Collectors.toUnmodifiableMap(Op::functionName, Function.identity()));

  public final Shape shape;
  final int arity;

  Op(Shape shape, int arity) {
    this.shape = shape;
    this.arity = arity;
  }

  /** Returns the name of a function in sources; {@code where} is NumPy's name of {@code ?:}. */
  public String functionName() {
    return this == SELECT ? "where" : name().toLowerCase(Locale.ROOT);
  }

  public boolean isComparison() {
    return compareTo(LESS) >= 0 && compareTo(NOT_EQUAL) <= 0;
  }

  public boolean isLogical() {
    return this == NOT || this == LOGICAL_AND || this == LOGICAL_OR;
  }

  public boolean isBitwise() {
    return this == INVERT || this == BIT_AND || this == BIT_OR || this == BIT_XOR;
  }

  public boolean isShift() {
    return this == SHIFT_LEFT || this == SHIFT_RIGHT;
  }

  /** Returns the operator as sources write it, or the function's name. */
  public String symbol() {
    return switch (this) {
      case NEGATE, SUBTRACT -> "-";
      case NOT -> "!";
      case INVERT -> "~";
      case ADD -> "+";
      case MULTIPLY -> "*";
      case DIVIDE -> "/";
      case FLOOR_DIVIDE -> "//";
      case REMAINDER -> "%";
      case SHIFT_LEFT -> "<<";
      case SHIFT_RIGHT -> ">>";
      case BIT_AND -> "&";
      case BIT_OR -> "|";
      case BIT_XOR -> "^";
      case LOGICAL_AND -> "&&";
      case LOGICAL_OR -> "||";
      case LESS -> "<";
      case LESS_EQUAL -> "<=";
      case GREATER -> ">";
      case GREATER_EQUAL -> ">=";
      case EQUAL -> "==";
      case NOT_EQUAL -> "!=";
      case SELECT -> "?:";
      case POW -> "**";
      default -> functionName();
    };
  }
}
