package dev.tidepool.methods.tree;

import static dev.tidepool.methods.tree.ValueType.DOUBLE;
import static dev.tidepool.methods.tree.ValueType.FLOAT;
import static dev.tidepool.methods.tree.ValueType.INT;
import static dev.tidepool.methods.tree.ValueType.LONG;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Functions of the Java library that generators know. Other static methods of the library are
 * translated from their bytecode if possible.
 */
public enum Function {
  ABS_INT("java.lang.Math", "abs", true, INT, INT),
  ABS_LONG("java.lang.Math", "abs", true, LONG, LONG),
  ABS_FLOAT("java.lang.Math", "abs", true, FLOAT, FLOAT),
  ABS_DOUBLE("java.lang.Math", "abs", true, DOUBLE, DOUBLE),
  MIN_INT("java.lang.Math", "min", true, INT, INT, INT),
  MIN_LONG("java.lang.Math", "min", true, LONG, LONG, LONG),
  MIN_FLOAT("java.lang.Math", "min", true, FLOAT, FLOAT, FLOAT),
  MIN_DOUBLE("java.lang.Math", "min", true, DOUBLE, DOUBLE, DOUBLE),
  MAX_INT("java.lang.Math", "max", true, INT, INT, INT),
  MAX_LONG("java.lang.Math", "max", true, LONG, LONG, LONG),
  MAX_FLOAT("java.lang.Math", "max", true, FLOAT, FLOAT, FLOAT),
  MAX_DOUBLE("java.lang.Math", "max", true, DOUBLE, DOUBLE, DOUBLE),
  SQRT("java.lang.Math", "sqrt", true, DOUBLE, DOUBLE),
  FMA_FLOAT("java.lang.Math", "fma", true, FLOAT, FLOAT, FLOAT, FLOAT),
  FMA_DOUBLE("java.lang.Math", "fma", true, DOUBLE, DOUBLE, DOUBLE, DOUBLE),
  FLOOR("java.lang.Math", "floor", true, DOUBLE, DOUBLE),
  CEIL("java.lang.Math", "ceil", true, DOUBLE, DOUBLE),
  RINT("java.lang.Math", "rint", true, DOUBLE, DOUBLE),
  ROUND_FLOAT("java.lang.Math", "round", true, INT, FLOAT),
  ROUND_DOUBLE("java.lang.Math", "round", true, LONG, DOUBLE),
  // StrictMath's copySign treats the sign of a NaN as positive.
  COPY_SIGN_FLOAT("java.lang.Math", "copySign", false, FLOAT, FLOAT, FLOAT),
  COPY_SIGN_DOUBLE("java.lang.Math", "copySign", false, DOUBLE, DOUBLE, DOUBLE),
  SIGNUM_FLOAT("java.lang.Math", "signum", true, FLOAT, FLOAT),
  SIGNUM_DOUBLE("java.lang.Math", "signum", true, DOUBLE, DOUBLE),
  MULTIPLY_HIGH("java.lang.Math", "multiplyHigh", true, LONG, LONG, LONG),
  BIT_COUNT_INT("java.lang.Integer", "bitCount", false, INT, INT),
  BIT_COUNT_LONG("java.lang.Long", "bitCount", false, INT, LONG),
  LEADING_ZEROS_INT("java.lang.Integer", "numberOfLeadingZeros", false, INT, INT),
  LEADING_ZEROS_LONG("java.lang.Long", "numberOfLeadingZeros", false, INT, LONG),
  FLOAT_BITS("java.lang.Float", "floatToRawIntBits", false, INT, FLOAT),
  FLOAT_OF_BITS("java.lang.Float", "intBitsToFloat", false, FLOAT, INT),
  DOUBLE_BITS("java.lang.Double", "doubleToRawLongBits", false, LONG, DOUBLE),
  DOUBLE_OF_BITS("java.lang.Double", "longBitsToDouble", false, DOUBLE, LONG),
  SIN("java.lang.Math", "sin", false, DOUBLE, DOUBLE),
  COS("java.lang.Math", "cos", false, DOUBLE, DOUBLE),
  TAN("java.lang.Math", "tan", false, DOUBLE, DOUBLE),
  ASIN("java.lang.Math", "asin", false, DOUBLE, DOUBLE),
  ACOS("java.lang.Math", "acos", false, DOUBLE, DOUBLE),
  ATAN("java.lang.Math", "atan", false, DOUBLE, DOUBLE),
  ATAN2("java.lang.Math", "atan2", false, DOUBLE, DOUBLE, DOUBLE),
  SINH("java.lang.Math", "sinh", false, DOUBLE, DOUBLE),
  COSH("java.lang.Math", "cosh", false, DOUBLE, DOUBLE),
  TANH("java.lang.Math", "tanh", false, DOUBLE, DOUBLE),
  EXP("java.lang.Math", "exp", false, DOUBLE, DOUBLE),
  EXPM1("java.lang.Math", "expm1", false, DOUBLE, DOUBLE),
  LOG("java.lang.Math", "log", false, DOUBLE, DOUBLE),
  LOG10("java.lang.Math", "log10", false, DOUBLE, DOUBLE),
  LOG1P("java.lang.Math", "log1p", false, DOUBLE, DOUBLE),
  CBRT("java.lang.Math", "cbrt", false, DOUBLE, DOUBLE),
  HYPOT("java.lang.Math", "hypot", false, DOUBLE, DOUBLE, DOUBLE),
  POW("java.lang.Math", "pow", false, DOUBLE, DOUBLE, DOUBLE);

  private static final Map<String, List<Function>> BY_METHOD =
      Arrays.stream(values()).collect(Collectors.groupingBy(Function::method));

  private final String owner;
  private final String method;
  // Whether the method of this name in StrictMath has the same results, bit for bit.
  private final boolean strict;
  private final ValueType result;

  @SuppressWarnings("ImmutableEnumChecker") // List.of makes it
  private final List<ValueType> parameters;

  Function(String owner, String method, boolean strict, ValueType result, ValueType... parameters) {
    this.owner = owner;
    this.method = method;
    this.strict = strict;
    this.result = result;
    this.parameters = List.of(parameters);
  }

  /** Returns the class that declares the method. */
  public String owner() {
    return owner;
  }

  /** Returns the method's name. */
  public String method() {
    return method;
  }

  /** Returns the type of the result. */
  public ValueType result() {
    return result;
  }

  /** Returns the types of the parameters. */
  public List<ValueType> parameters() {
    return parameters;
  }

  /**
   * Returns the function of a static method; empty if generators do not know it. A method of {@code
   * StrictMath} is that of {@code Math} if both have the same results.
   */
  public static Optional<Function> of(String owner, String method, List<ValueType> parameters) {
    for (Function function : BY_METHOD.getOrDefault(method, List.of())) {
      boolean isOwner =
          function.owner.equals(owner) || (function.strict && owner.equals("java.lang.StrictMath"));
      if (isOwner && function.parameters.equals(parameters)) {
        return Optional.of(function);
      }
    }
    return Optional.empty();
  }
}
