package dev.tidepool.expression.types;

import dev.tidepool.expression.syntax.ExpressionException;
import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarKind;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.syntax.ScalarValue;
import dev.tidepool.expression.types.TypedProgram.Uniform;
import dev.tidepool.expression.types.TypedProgram.UniformSource;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the types of each operation as NumPy does, with the promotion of NEP 50: arrays promote
 * among themselves, and scalars follow. Conversions become nodes.
 *
 * <p>This language differs from NumPy in these points. float16 is float32. Scalars stay weak
 * through functions and operators. Powers of integers are computed by wrapping multiplication, and
 * a negative power from an array gives the truncated value. A parameter that is out of the bounds
 * of the 8-, 16- or 32-bit integers with which it is compared is compared in int64. A parameter
 * that is out of the bounds of the 64-bit integers is refused.
 */
final class Promotion {
  private record UniformKey(WeakScalar scalar, ScalarType type) {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof UniformKey key && scalar.id() == key.scalar.id() && type == key.type;
    }

    @Override
    public int hashCode() {
      return 31 * scalar.id() + type.hashCode();
    }
  }

  private final String source;
  private final NodeTable nodes = new NodeTable();
  private final List<WeakScalar> weak = new ArrayList<>();
  private final List<UniformSource> uniforms = new ArrayList<>();
  private final Map<UniformKey, Node> uniformNodes = new HashMap<>();

  Promotion(String source) {
    this.source = source;
  }

  List<UniformSource> uniforms() {
    return List.copyOf(uniforms);
  }

  List<WeakScalar> weak() {
    return List.copyOf(weak);
  }

  Node load(int array, ScalarType type) {
    return nodes.node(Op.LOAD, type, List.of(), array);
  }

  WeakScalar parameter(String name, ScalarKind kind) {
    return weak(kind, null, name, Op.LOAD, List.of());
  }

  WeakScalar literal(Object value) {
    return weak(ScalarKind.of(value), value, null, Op.LOAD, List.of());
  }

  private WeakScalar weak(
      ScalarKind kind,
      @Nullable Object constant,
      @Nullable String parameter,
      Op op,
      List<WeakScalar> args) {
    WeakScalar scalar = new WeakScalar(weak.size(), kind, constant, parameter, op, args);
    weak.add(scalar);
    return scalar;
  }

  /** Returns NumPy's type for {@code value} as an array. */
  ScalarType naturalType(Value value) {
    return value instanceof Value.Typed(Node node)
        ? node.type()
        : ((Value.Weak) value).scalar().kind().defaultType();
  }

  /** Returns {@code value} as it is stored into an array of {@code type}. */
  Node store(Value value, ScalarType type, String name, int position) {
    ScalarType from = naturalType(value);
    boolean fits =
        value instanceof Value.Weak(WeakScalar scalar)
            ? scalar.kind() != ScalarKind.FLOAT
                ? type != ScalarType.BOOL || scalar.kind() == ScalarKind.BOOL
                : type.isFloating()
            : from.assignableTo(type);
    if (!fits) {
      throw error(
          position,
          "the "
              + from.numpyName()
              + " result can't be stored into '"
              + name
              + "' of "
              + type.numpyName()
              + " without losing its kind; give '"
              + name
              + "' the type "
              + from.numpyName()
              + ", or another of its kind");
    }
    return strong(value, type, position);
  }

  /** Returns {@code value} in {@code type}; scalars are checked against the bounds of the type. */
  Node strong(Value value, ScalarType type, int position) {
    if (value instanceof Value.Typed(Node node)) {
      return nodes.convert(node, type);
    }
    WeakScalar scalar = ((Value.Weak) value).scalar();
    if (scalar.constant() == null) {
      return uniformNodes.computeIfAbsent(new UniformKey(scalar, type), _ -> uniform(scalar, type));
    }
    try {
      return nodes.node(Op.CONSTANT, type, List.of(), ScalarValue.bits(scalar.constant(), type));
    } catch (ArithmeticException e) {
      throw error(position, Objects.requireNonNull(e.getMessage()));
    }
  }

  private Node uniform(WeakScalar scalar, ScalarType type) {
    String text = scalar.parameter() != null ? scalar.parameter() : "scalar " + scalar.id();
    uniforms.add(new UniformSource(new Uniform(type, text), scalar));
    return nodes.node(Op.UNIFORM, type, List.of(), uniforms.size() - 1);
  }

  /** Applies {@code op} to {@code args}, in the types that NumPy chooses. */
  Value apply(Op op, List<Value> args, int position) {
    List<WeakScalar> scalars =
        args.stream()
            .filter(Value.Weak.class::isInstance)
            .map(arg -> ((Value.Weak) arg).scalar())
            .toList();
    if (scalars.size() == args.size()) {
      return new Value.Weak(applyWeak(op, scalars, position));
    }
    return new Value.Typed(op == Op.SELECT ? select(args, position) : typed(op, args, position));
  }

  private WeakScalar applyWeak(Op op, List<WeakScalar> args, int position) {
    List<ScalarKind> kinds = args.stream().map(WeakScalar::kind).toList();
    ScalarKind joined = Collections.max(kinds);
    checkOperands(op, joined.defaultType(), position);
    ScalarKind kind = WeakArithmetic.kind(op, kinds);
    if (args.stream().allMatch(arg -> arg.constant() != null)) {
      try {
        Object value =
            WeakArithmetic.compute(
                op, args.stream().map(arg -> Objects.requireNonNull(arg.constant())).toList());
        return weak(kind, value, null, op, args);
      } catch (ArithmeticException e) {
        throw error(position, Objects.requireNonNull(e.getMessage()));
      }
    }
    return weak(kind, null, null, op, args);
  }

  private Node select(List<Value> args, int position) {
    Node condition = strong(args.get(0), ScalarType.BOOL, position);
    List<Value> branches = args.subList(1, 3);
    ScalarType type = joined(branches);
    return nodes.node(
        Op.SELECT,
        type,
        condition,
        strong(branches.get(0), type, position),
        strong(branches.get(1), type, position));
  }

  private Node typed(Op op, List<Value> args, int position) {
    ScalarType joined = joined(args);
    checkOperands(op, joined, position);
    if (op == Op.POW) {
      Node special = specialPower(args, joined, position);
      if (special != null) {
        return special;
      }
    }
    if (op.isComparison()) {
      Node known = comparedWithConstant(op, args);
      if (known != null) {
        return known;
      }
    }
    if (op.isComparison() && isOfBothSigns(args)) {
      return comparedExactly(
          op, ((Value.Typed) args.get(0)).node(), ((Value.Typed) args.get(1)).node());
    }
    ScalarType operand = operandType(op, args, joined);
    List<Node> operands = args.stream().map(arg -> strong(arg, operand, position)).toList();
    if (isIdentity(op, operand)) {
      return operands.getFirst();
    }
    ScalarType result = op.isComparison() || op.isLogical() ? ScalarType.BOOL : operand;
    return nodes.node(op, result, operands, 0);
  }

  /** Returns the promoted type of all values; scalars follow the arrays if there are any. */
  private static ScalarType joined(List<Value> values) {
    @Nullable ScalarType arrays = null;
    @Nullable ScalarKind scalars = null;
    for (Value value : values) {
      if (value instanceof Value.Typed(Node node)) {
        arrays = arrays == null ? node.type() : ScalarType.promote(arrays, node.type());
      } else {
        ScalarKind kind = ((Value.Weak) value).scalar().kind();
        scalars = scalars == null || kind.compareTo(scalars) > 0 ? kind : scalars;
      }
    }
    if (arrays == null) {
      return Objects.requireNonNull(scalars).defaultType();
    }
    return scalars == null ? arrays : scalars.with(arrays);
  }

  private ScalarType operandType(Op op, List<Value> args, ScalarType joined) {
    if (op.isLogical()) {
      return ScalarType.BOOL;
    }
    if (op.isComparison()) {
      return comparedIn(args, joined);
    }
    return switch (op) {
      case DIVIDE -> joined.isFloating() ? joined : ScalarType.FLOAT64;
      case FLOOR_DIVIDE, REMAINDER, SHIFT_LEFT, SHIFT_RIGHT, POW ->
          joined == ScalarType.BOOL ? ScalarType.INT8 : joined;
      case SQRT, RINT, FMA -> floating(args, joined);
      default -> op.shape == Op.Shape.FUNCTION ? floating(args, joined) : joined;
    };
  }

  /**
   * Returns the first floating type that holds each argument; it may differ from that of the
   * promoted type.
   */
  private static ScalarType floating(List<Value> args, ScalarType joined) {
    ScalarType type = ScalarType.FLOAT32;
    for (Value arg : args) {
      ScalarType own =
          arg instanceof Value.Typed(Node node) ? node.type() : ((Value.Weak) arg).in(joined);
      if (own.floating() == ScalarType.FLOAT64) {
        type = ScalarType.FLOAT64;
      }
    }
    return type;
  }

  private static ScalarType comparedIn(List<Value> args, ScalarType joined) {
    boolean integerScalar =
        args.stream()
            .anyMatch(
                arg ->
                    arg instanceof Value.Weak(WeakScalar scalar)
                        && scalar.kind() == ScalarKind.INT);
    return integerScalar && joined.isInteger() && joined != ScalarType.UINT64
        ? ScalarType.INT64
        : joined;
  }

  /**
   * Returns whether signed integers are combined with uint64: only float64 holds both, and it
   * rounds them.
   */
  private static boolean isOfBothSigns(List<Value> args) {
    boolean signed = false;
    boolean unsigned = false;
    for (Value arg : args) {
      if (arg instanceof Value.Typed(Node node)) {
        signed |= node.type().isSigned();
        unsigned |= node.type() == ScalarType.UINT64;
      }
    }
    return signed && unsigned;
  }

  /**
   * Compares with a constant as NumPy 2 does: an integer that is out of the range of the array's
   * type is less, or greater, than each of its elements. Returns null if the constant is in the
   * range, or if there is none.
   */
  private @Nullable Node comparedWithConstant(Op op, List<Value> args) {
    boolean first = args.getFirst() instanceof Value.Weak;
    if (!(args.get(first ? 1 : 0) instanceof Value.Typed(Node array))
        || !array.type().isInteger()
        || !(args.get(first ? 0 : 1) instanceof Value.Weak(WeakScalar scalar))
        || !(scalar.constant() instanceof BigInteger constant)
        || ScalarValue.fits(constant, array.type())) {
      return null;
    }
    // Zero stands for the elements: it is in the range of each type.
    List<Object> values =
        first ? List.of(constant, BigInteger.ZERO) : List.of(BigInteger.ZERO, constant);
    long result = WeakArithmetic.compute(op, values).equals(true) ? 1 : 0;
    return nodes.node(Op.CONSTANT, ScalarType.BOOL, List.of(), result);
  }

  /**
   * Compares as NumPy 1.25 and later: a negative number is less than any other; the others are
   * compared as uint64.
   */
  private Node comparedExactly(Op op, Node left, Node right) {
    boolean first = left.type().isSigned();
    Node signed = nodes.convert(first ? left : right, ScalarType.INT64);
    Node zero = nodes.node(Op.CONSTANT, ScalarType.INT64, List.of(), 0);
    Node negative = nodes.node(Op.LESS, ScalarType.BOOL, signed, zero);
    Node compared =
        nodes.node(
            op,
            ScalarType.BOOL,
            nodes.convert(first ? signed : left, ScalarType.UINT64),
            nodes.convert(first ? right : signed, ScalarType.UINT64));
    boolean ofNegative =
        switch (op) {
          case LESS, LESS_EQUAL -> first;
          case GREATER, GREATER_EQUAL -> !first;
          default -> op == Op.NOT_EQUAL;
        };
    Node known = nodes.node(Op.CONSTANT, ScalarType.BOOL, List.of(), ofNegative ? 1 : 0);
    return nodes.node(Op.SELECT, ScalarType.BOOL, negative, known, compared);
  }

  private static boolean isIdentity(Op op, ScalarType type) {
    return switch (op) {
      case ABS -> type == ScalarType.BOOL || type.isUnsigned();
      case FLOOR, CEIL -> !type.isFloating();
      default -> false;
    };
  }

  /** Returns the powers that NumPy computes in another, exact way: 1, 2, -1 and a half. */
  private @Nullable Node specialPower(List<Value> args, ScalarType joined, int position) {
    if (!(args.get(1) instanceof Value.Weak(WeakScalar exponent))
        || exponent.constant() == null
        || exponent.kind() == ScalarKind.BOOL) {
      return null;
    }
    double power = ScalarValue.toDouble(exponent.constant());
    if (power < 0 && !joined.isFloating()) {
      throw error(position, "integers to negative integer powers are not integers; use a float");
    }
    Node base = strong(args.get(0), joined, position);
    if (power == 1) {
      return base;
    }
    if (power == 2) {
      return nodes.node(Op.MULTIPLY, joined, base, base);
    }
    if (power == 0.5) {
      return nodes.node(Op.SQRT, joined, base);
    }
    if (power == -1) {
      Node one = nodes.node(Op.CONSTANT, joined, List.of(), ScalarValue.bits(1.0, joined));
      return nodes.node(Op.DIVIDE, joined, one, base);
    }
    return null;
  }

  private void checkOperands(Op op, ScalarType type, int position) {
    boolean refused =
        switch (op) {
          case NEGATE, SUBTRACT -> type == ScalarType.BOOL;
          default -> (op.isBitwise() || op.isShift()) && type.isFloating();
        };
    if (refused) {
      String hint =
          type != ScalarType.BOOL
              ? "; it takes integers" + (op == Op.BIT_XOR ? ", and '**' is the power" : "")
              : op == Op.NEGATE ? "; use '!'" : "; use '^' or '!='";
      throw error(position, "'" + op.symbol() + "' is not defined for " + type.numpyName() + hint);
    }
  }

  private ExpressionException error(int position, String problem) {
    return ExpressionException.at(source, position, problem);
  }
}
