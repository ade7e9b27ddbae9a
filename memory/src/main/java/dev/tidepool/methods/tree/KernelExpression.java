package dev.tidepool.methods.tree;

import java.util.List;

/** A value, computed without effects and with Java's meaning: integers wrap, shifts are masked. */
public sealed interface KernelExpression {
  /** Returns its type. */
  ValueType type();

  /** A constant, as the bits of an int, long, float or double. */
  record Constant(ValueType type, long bits) implements KernelExpression {
    /** Returns an int. */
    public static Constant of(int value) {
      return new Constant(ValueType.INT, value);
    }

    /** Returns a long. */
    public static Constant of(long value) {
      return new Constant(ValueType.LONG, value);
    }
  }

  /** The current value of a variable. */
  record Read(Variable variable) implements KernelExpression {
    @Override
    public ValueType type() {
      return variable.type();
    }
  }

  /**
   * A scalar argument of the launch. Short integers and booleans are ints.
   *
   * @param index the index among the kernel's parameters
   */
  record ScalarArgument(int index, ValueType type) implements KernelExpression {}

  /** A number of the work item in a dimension from 0 to 2; a long. */
  record ItemNumber(Kind kind, int dimension) implements KernelExpression {
    /** Which number; named as the methods of {@code WorkItem}. */
    public enum Kind {
      GLOBAL_ID,
      LOCAL_ID,
      GROUP_ID,
      GLOBAL_SIZE,
      GROUP_SIZE;

      /** Returns whether all items of a group have the same number. */
      public boolean isUniform() {
        return this != GLOBAL_ID && this != LOCAL_ID;
      }
    }

    @Override
    public ValueType type() {
      return ValueType.LONG;
    }
  }

  /** The length of an array; an int. */
  record Length(KernelArray array) implements KernelExpression {
    @Override
    public ValueType type() {
      return ValueType.INT;
    }
  }

  /** A negated number; a float or double changes its sign, also of zero. */
  record Negate(KernelExpression operand) implements KernelExpression {
    @Override
    public ValueType type() {
      return operand.type();
    }
  }

  /** A conversion between types, or the narrowing of an int. */
  record Convert(Conversion conversion, KernelExpression operand) implements KernelExpression {
    @Override
    public ValueType type() {
      return conversion.to();
    }
  }

  /** Conversions, named as the JVM's instructions. Casts to integers saturate; NaN becomes 0. */
  enum Conversion {
    I2B(ValueType.INT, ValueType.INT),
    I2C(ValueType.INT, ValueType.INT),
    I2S(ValueType.INT, ValueType.INT),
    I2L(ValueType.INT, ValueType.LONG),
    I2F(ValueType.INT, ValueType.FLOAT),
    I2D(ValueType.INT, ValueType.DOUBLE),
    L2I(ValueType.LONG, ValueType.INT),
    L2F(ValueType.LONG, ValueType.FLOAT),
    L2D(ValueType.LONG, ValueType.DOUBLE),
    F2I(ValueType.FLOAT, ValueType.INT),
    F2L(ValueType.FLOAT, ValueType.LONG),
    F2D(ValueType.FLOAT, ValueType.DOUBLE),
    D2I(ValueType.DOUBLE, ValueType.INT),
    D2L(ValueType.DOUBLE, ValueType.LONG),
    D2F(ValueType.DOUBLE, ValueType.FLOAT);

    private final ValueType from;
    private final ValueType to;

    Conversion(ValueType from, ValueType to) {
      this.from = from;
      this.to = to;
    }

    /** Returns the type of the operand. */
    public ValueType from() {
      return from;
    }

    /** Returns the type of the result. */
    public ValueType to() {
      return to;
    }
  }

  /**
   * Arithmetic of two numbers of one type, which is the result's; the right operand of a shift is
   * an int. Quotients of integers are {@link Statement.Divide}.
   */
  record Binary(Operator operator, KernelExpression left, KernelExpression right)
      implements KernelExpression {
    @Override
    public ValueType type() {
      return left.type();
    }
  }

  /** An operator of arithmetic. */
  enum Operator {
    ADD("+"),
    SUBTRACT("-"),
    MULTIPLY("*"),
    /** Division of floats and doubles. */
    DIVIDE("/"),
    /** The remainder of floats and doubles: Java's, which is C's {@code fmod}. */
    REMAINDER("%"),
    AND("&"),
    OR("|"),
    XOR("^"),
    SHIFT_LEFT("<<"),
    SHIFT_RIGHT(">>"),
    SHIFT_RIGHT_UNSIGNED(">>>");

    private final String symbol;

    Operator(String symbol) {
      this.symbol = symbol;
    }

    /** Returns the operator as Java writes it. */
    public String symbol() {
      return symbol;
    }
  }

  /**
   * Whether a comparison of two values of one type holds; the int 1 or 0.
   *
   * @param negated whether the result is the opposite: {@code !(a < b)} also holds if one is NaN
   */
  record Compare(
      Comparison comparison, KernelExpression left, KernelExpression right, boolean negated)
      implements KernelExpression {
    @Override
    public ValueType type() {
      return ValueType.INT;
    }

    /** Returns the opposite. */
    public Compare not() {
      return new Compare(comparison, left, right, !negated);
    }
  }

  /** A comparison. If a value is NaN, only {@code NOT_EQUAL} holds. */
  enum Comparison {
    EQUAL("=="),
    NOT_EQUAL("!="),
    LESS("<"),
    LESS_EQUAL("<="),
    GREATER(">"),
    GREATER_EQUAL(">=");

    private final String symbol;

    Comparison(String symbol) {
      this.symbol = symbol;
    }

    /** Returns the comparison as Java and C write it. */
    public String symbol() {
      return symbol;
    }
  }

  /**
   * The int -1, 0 or 1 by the order of two values, as computed by {@code lcmp}, {@code fcmpl} and
   * the like.
   *
   * @param unordered the result if a value is NaN: -1 or 1
   */
  record Order(KernelExpression left, KernelExpression right, int unordered)
      implements KernelExpression {
    @Override
    public ValueType type() {
      return ValueType.INT;
    }
  }

  /** A function of the Java library. */
  record Call(Function function, List<KernelExpression> arguments) implements KernelExpression {
    /** Copies the list. */
    public Call {
      arguments = List.copyOf(arguments);
    }

    @Override
    public ValueType type() {
      return function.result();
    }
  }
}
