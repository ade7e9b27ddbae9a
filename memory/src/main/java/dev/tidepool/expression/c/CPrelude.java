package dev.tidepool.expression.c;

import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.DeviceTraits;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** The C functions for operations without a C operator; only those that a kernel needs. */
final class CPrelude {
  private final Dialect dialect;
  private final DeviceTraits traits;
  private final Set<String> called;
  private final Map<String, String> functions = new LinkedHashMap<>();

  /**
   * Creates a prelude without functions.
   *
   * @param called receives the names of the dialect's functions of floats that these call
   */
  CPrelude(Dialect dialect, DeviceTraits traits, Set<String> called) {
    this.dialect = dialect;
    this.traits = traits;
    this.called = called;
  }

  /** Returns the functions that have been called so far. */
  String text() {
    return String.join("", functions.values());
  }

  /** Returns a call of the function for {@code op}; integers have one of the four widest types. */
  String call(Op op, ScalarType type, List<String> args) {
    if (isNative(op, type)) {
      return op == Op.SQRT ? "sqrt(" + args.getFirst() + ")" : args.get(0) + " / " + args.get(1);
    }
    if (isRounding(op) && !dialect.definesRounding()) {
      return op.functionName() + "(" + args.getFirst() + ")";
    }
    String name = op.name().toLowerCase(Locale.ROOT) + "_" + type.numpyName();
    if (!functions.containsKey(name)) {
      String text = type.isFloating() ? floating(op, type) : integer(op, type);
      functions.put(name, define(name, args.size() == 1, type, text));
    }
    return name + "(" + String.join(", ", args) + ")";
  }

  private boolean isNative(Op op, ScalarType type) {
    return (op == Op.DIVIDE || op == Op.SQRT)
        && (type == ScalarType.FLOAT64 || traits.exactFloatDivision());
  }

  private static boolean isRounding(Op op) {
    return op == Op.FLOOR || op == Op.CEIL || op == Op.RINT;
  }

  private String define(String name, boolean unary, ScalarType type, String text) {
    String generic =
        " T " + name + (unary ? "(T a)" : "(T a, T b)") + " {\n" + text.indent(2) + "}\n";
    return dialect.functionQualifier()
        + generic
            .replaceAll("\\bT\\b", dialect.typeName(type))
            .replaceAll("\\bU\\b", dialect.typeName(unsigned(type)))
            .replaceAll("\\bWIDTH\\b", String.valueOf(8 * type.byteSize()));
  }

  private static ScalarType unsigned(ScalarType type) {
    return type.byteSize() == 8 ? ScalarType.UINT64 : ScalarType.UINT32;
  }

  private String floating(Op op, ScalarType type) {
    return switch (op) {
      // A double has more than twice a float's digits, so rounding twice changes nothing.
      case DIVIDE -> "return (T)((double)a / (double)b);";
      case SQRT -> "return (T)sqrt((double)a);";
      case FLOOR, CEIL, RINT -> Rounding.body(op, type == ScalarType.FLOAT32);
      case REMAINDER ->
          """
          const T r = %s(a, b);
          if (r == 0) {
            return copysign((T)0, b);
          }
          return (b < 0) != (r < 0) ? r + b : r;
          """
              .formatted(fmod(type));
      case FLOOR_DIVIDE ->
          """
          if (b == 0) {
            return %1$s;
          }
          const T r = %3$s(a, b);
          T q = a - r;
          q = %2$s;
          if (r != 0 && (b < 0) != (r < 0)) {
            q -= 1;
          }
          if (q == 0) {
            return copysign((T)0, %1$s);
          }
          const T f = %4$s;
          return q - f > (T)0.5 ? f + 1 : f;
          """
              .formatted(
                  call(Op.DIVIDE, type, List.of("a", "b")),
                  call(Op.DIVIDE, type, List.of("q", "b")),
                  fmod(type),
                  call(Op.FLOOR, type, List.of("q")));
      default -> throw new AssertionError(op);
    };
  }

  private String fmod(ScalarType type) {
    String name = type == ScalarType.FLOAT32 ? dialect.floatFunction("fmod") : "fmod";
    called.add(name);
    return name;
  }

  private static String integer(Op op, ScalarType type) {
    boolean signed = type.isSigned();
    return switch (op) {
      case FLOOR_DIVIDE ->
          signed
              ? """
              const T d = b == 0 || b == -1 ? 1 : b;
              const T r = a % d;
              const T q = a / d - (r != 0 && (r < 0) != (d < 0) ? 1 : 0);
              return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : q;
              """
              : "return b == 0 ? 0 : a / (b == 0 ? 1 : b);";
      case REMAINDER ->
          signed
              ? """
              const T d = b == 0 || b == -1 ? 1 : b;
              const T r = a % d;
              return r != 0 && (r < 0) != (d < 0) ? r + d : r;
              """
              : "return b == 0 ? 0 : a % (b == 0 ? 1 : b);";
      case SHIFT_LEFT -> "return (U)b < WIDTH ? (T)((U)a << (U)b) : 0;";
      case SHIFT_RIGHT ->
          signed ? "return a >> ((U)b < WIDTH ? b : WIDTH - 1);" : "return b < WIDTH ? a >> b : 0;";
      case POW ->
          (signed
                  ? """
                  if (b < 0) {
                    return a == 1 ? 1 : a == -1 ? 1 - 2 * (b & 1) : 0;
                  }
                  """
                  : "")
              + """
              U result = 1;
              U square = (U)a;
              for (U rest = (U)b; rest != 0; rest >>= 1) {
                if (rest & 1) {
                  result *= square;
                }
                square *= square;
              }
              return (T)result;
              """;
      default -> throw new AssertionError(op);
    };
  }
}
