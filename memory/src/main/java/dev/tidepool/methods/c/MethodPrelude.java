package dev.tidepool.methods.c;

import dev.tidepool.expression.c.Rounding;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.ValueType;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The functions for operations that C-like languages define differently from Java, or leave
 * undefined. Contains only the functions that the kernel needs.
 */
final class MethodPrelude {
  private final KernelLanguage language;
  private final Map<String, String> functions = new LinkedHashMap<>();

  MethodPrelude(KernelLanguage language) {
    this.language = language;
  }

  /** Returns the functions that have been requested so far. */
  String text() {
    return String.join("", functions.values());
  }

  private String define(String name, String signatureAndBody) {
    functions.putIfAbsent(
        name, language.dialect().functionQualifier() + " " + signatureAndBody + "\n");
    return name;
  }

  /** Returns the name of the function that converts to an integer as Java does. */
  String saturating(Conversion conversion, String from, String to) {
    String name = "tp_" + conversion.name().toLowerCase(Locale.ROOT);
    boolean isLong = conversion.to() == ValueType.LONG;
    String bound = isLong ? "9223372036854775808.0" : "2147483648.0";
    String suffix = conversion.from() == ValueType.FLOAT ? "f" : "";
    String most = isLong ? "9223372036854775807" + language.longSuffix() : "2147483647";
    return define(
        name,
        to
            + " "
            + name
            + "("
            + from
            + " a) {\n  return a != a ? 0 : a >= "
            + bound
            + suffix
            + " ? "
            + most
            + " : a <= -"
            + bound
            + suffix
            + " ? -"
            + most
            + " - 1 : ("
            + to
            + ")a;\n}");
  }

  /**
   * Returns the name of a function that the language does not have with Java's meaning; else empty.
   */
  Optional<String> function(Function function, boolean single) {
    String text =
        switch (function) {
          case ABS_INT, ABS_LONG -> "return a < 0 ? (T)(0 - (U)a) : a;";
          case ABS_FLOAT, ABS_DOUBLE -> "return fabs(a);";
          case MIN_INT, MIN_LONG -> "return a < b ? a : b;";
          case MAX_INT, MAX_LONG -> "return a > b ? a : b;";
          case MIN_FLOAT, MIN_DOUBLE ->
              "return a != a ? a : b != b ? b : a == b ? (NEGATIVE ? a : b) : a < b ? a : b;";
          case MAX_FLOAT, MAX_DOUBLE ->
              "return a != a ? a : b != b ? b : a == b ? (NEGATIVE ? b : a) : a > b ? a : b;";
          case SIGNUM_FLOAT, SIGNUM_DOUBLE -> "return a > 0 ? (T)1 : a < 0 ? (T)-1 : a;";
          case FLOOR -> rounding(Op.FLOOR, single);
          case CEIL -> rounding(Op.CEIL, single);
          case RINT -> rounding(Op.RINT, single);
          case ROUND_FLOAT, ROUND_DOUBLE ->
              """
              T f = FLOOR(a);
                T r = a - f >= (T)0.5 ? f + 1 : f;
                return TO_INTEGER(r);\
              """;
          // If b is not finite, d is NaN. C's pow is 1 for 1 and NaN, and for 1 or -1 and an
          // infinity.
          case POW ->
              "T d = b - b;\n  return d != d && (b != b || fabs(a) == 1) ? d : "
                  + language.call(function, "a", "b")
                  + ";";
          default -> null;
        };
    return text == null ? Optional.empty() : Optional.of(define(function, single, text));
  }

  private static String rounding(Op op, boolean single) {
    return Rounding.body(op, single).strip().replace("\n", "\n  ");
  }

  private String define(Function function, boolean single, String text) {
    ValueType type = single ? ValueType.FLOAT : function.parameters().getFirst();
    String name = "tp_" + function.name().toLowerCase(Locale.ROOT) + (single ? "_single" : "");
    String c = type(type);
    String result = type(single ? ValueType.FLOAT : function.result());
    String body = text.replace("NEGATIVE", negative(type));
    if (body.contains("TO_INTEGER")) {
      Conversion conversion = type == ValueType.FLOAT ? Conversion.F2I : Conversion.D2L;
      body = body.replace("TO_INTEGER", saturating(conversion, c, result));
    }
    if (body.contains("FLOOR")) {
      body = body.replace("FLOOR", function(Function.FLOOR, type == ValueType.FLOAT).orElseThrow());
    }
    String arguments = function.parameters().size() == 2 ? "(T a, T b)" : "(T a)";
    return define(
        name,
        (result + " " + name + arguments + " {\n  " + body + "\n}")
            .replaceAll("\\bT\\b", c)
            .replaceAll("\\bU\\b", unsigned(type == ValueType.LONG)));
  }

  private String unsigned(boolean isLong) {
    return language.dialect().typeName(isLong ? ScalarType.UINT64 : ScalarType.UINT32);
  }

  private String type(ValueType type) {
    return language
        .dialect()
        .typeName(
            switch (type) {
              case INT -> ScalarType.INT32;
              case LONG -> ScalarType.INT64;
              case FLOAT -> ScalarType.FLOAT32;
              case DOUBLE -> ScalarType.FLOAT64;
            });
  }

  /** Returns a test that the sign of {@code a} is negative; true also for negative zero. */
  private String negative(ValueType type) {
    Function bits = type == ValueType.FLOAT ? Function.FLOAT_BITS : Function.DOUBLE_BITS;
    return language.call(bits, "a") + " < 0";
  }

  /** Returns the name of the function that adds a float to an element atomically. */
  String atomicFloatAdd(boolean isShared, String pointer, String ints) {
    String name = "tp_atomic_add_" + (isShared ? "shared" : "global");
    String bits = language.call(Function.FLOAT_BITS, "before + value");
    String seen = language.call(Function.FLOAT_OF_BITS, "was");
    String atomicInts = language.atomicPointer(ints);
    return define(
        name,
        "float "
            + name
            + "("
            + pointer
            + " element, float value) {\n  "
            + atomicInts
            + " bits = ("
            + atomicInts
            + ")element;\n  int was = *bits;\n  for (;;) {\n    float before = "
            + seen
            + ";\n    int now = "
            + language.compareAndSet(isShared, "bits", "was", bits)
            + ";\n    if (now == was) {\n      return before;\n    }\n    was = now;\n  }\n}");
  }
}
