package dev.tidepool.methods.c;

import dev.tidepool.UnsupportedKernelException;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Binary;
import dev.tidepool.methods.tree.KernelExpression.Call;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Convert;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.KernelExpression.Negate;
import dev.tidepool.methods.tree.KernelExpression.Order;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.AtomicOperation;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;

/**
 * Writes expressions in a C-like language with Java's meaning: integers are computed unsigned, so
 * that overflow wraps, and operations that C leaves undefined are written out. Every text can be an
 * operand.
 */
final class ExpressionWriter {
  private final KernelTree tree;
  private final KernelLanguage language;
  private final DeviceLimits device;
  private final MethodPrelude prelude;
  private boolean usesLongAtomics;

  ExpressionWriter(KernelTree tree, KernelLanguage language, DeviceLimits device) {
    this.tree = tree;
    this.language = language;
    this.device = device;
    this.prelude = new MethodPrelude(language);
  }

  DeviceLimits device() {
    return device;
  }

  /** Returns the functions that expressions called. */
  String functions() {
    return prelude.text();
  }

  boolean usesLongAtomics() {
    return usesLongAtomics;
  }

  static String name(Variable variable) {
    return "tp_v" + variable.id();
  }

  String type(ElementKind kind) {
    return switch (kind) {
      case BOOLEAN -> language.dialect().typeName(ScalarType.BOOL);
      case BYTE -> language.dialect().typeName(ScalarType.INT8);
      case SHORT -> language.dialect().typeName(ScalarType.INT16);
      case INT -> type(ValueType.INT);
      case LONG -> type(ValueType.LONG);
      case FLOAT -> type(ValueType.FLOAT);
      case DOUBLE -> type(ValueType.DOUBLE);
    };
  }

  String type(ValueType type) {
    return language
        .dialect()
        .typeName(
            switch (type) {
              case INT -> ScalarType.INT32;
              case LONG -> ScalarType.INT64;
              case FLOAT -> ScalarType.FLOAT32;
              case DOUBLE -> {
                requireDoubles("64-bit floating point");
                yield ScalarType.FLOAT64;
              }
            });
  }

  String unsigned(ValueType type) {
    return language
        .dialect()
        .typeName(type == ValueType.LONG ? ScalarType.UINT64 : ScalarType.UINT32);
  }

  private void requireDoubles(String what) {
    if (!device.fp64()) {
      throw refuse(what, ExpressionWriter::hasDoubles);
    }
  }

  private static boolean hasDoubles(Statement statement) {
    KernelArray array = Walk.array(statement);
    return (array != null && array.kind() == ElementKind.DOUBLE)
        || Walk.expressions(statement).stream()
            .anyMatch(value -> Walk.any(value, part -> part.type() == ValueType.DOUBLE));
  }

  private UnsupportedKernelException refuse(String what) {
    return refuse(what, _ -> false);
  }

  /**
   * Returns an error about a feature that the device lacks.
   *
   * @param isUse whether a statement needs the feature; only some statements have lines
   */
  private UnsupportedKernelException refuse(String what, Predicate<Statement> isUse) {
    List<Site> uses = new ArrayList<>();
    Walk.statements(
        tree.body(),
        statement -> {
          Site site = Walk.site(statement);
          if (site != null && site.frame().getLineNumber() > 0 && isUse.test(statement)) {
            uses.add(site);
          }
        });
    String line =
        uses.stream()
            .min(Comparator.comparingInt(Site::id))
            .map(use -> " (first in " + shown(use.frame()) + ")")
            .orElse("");
    String kernel = tree.className().substring(tree.className().lastIndexOf('.') + 1);
    return new UnsupportedKernelException(
        kernel.replace('$', '.')
            + "."
            + tree.methodName()
            + " needs "
            + what
            + ", which "
            + device.name()
            + " lacks"
            + line
            + "; use another device, such as the CPU");
  }

  private String shown(StackTraceElement place) {
    boolean isKernel =
        place.getClassName().equals(tree.className())
            && place.getMethodName().equals(tree.methodName());
    return (isKernel ? "" : place.getClassName() + "." + place.getMethodName() + ", ")
        + "line "
        + place.getLineNumber();
  }

  /** Returns a condition that is true if an int is not 0. */
  String condition(KernelExpression condition) {
    return condition instanceof Compare compare ? comparison(compare) : of(condition) + " != 0";
  }

  /** Returns a comparison without parentheses: compilers warn about them in conditions. */
  private String comparison(Compare compare) {
    String text =
        of(compare.left()) + " " + compare.comparison().symbol() + " " + of(compare.right());
    return compare.negated() ? "!(" + text + ")" : text;
  }

  /** Returns the text of an expression, in parentheses if it needs them. */
  String of(KernelExpression expression) {
    return switch (expression) {
      case Constant(ValueType type, long bits) -> constant(type, bits);
      case KernelExpression.Read(Variable variable) -> name(variable);
      case KernelExpression.ScalarArgument(int index, ValueType type) ->
          type == ValueType.INT ? "((int)tp_scalar" + index + ")" : "tp_scalar" + index;
      case ItemNumber(ItemNumber.Kind kind, int dimension) ->
          kind == ItemNumber.Kind.GLOBAL_SIZE
              ? "((" + type(ValueType.LONG) + ")tp_items" + dimension + ")"
              : "(" + language.itemNumber(kind, dimension) + ")";
      case KernelExpression.Length(KernelArray array) ->
          switch (array) {
            case KernelArray.Argument argument -> "tp_length" + argument.index();
            case KernelArray.Private own -> Integer.toString(own.length());
            case KernelArray.Shared shared -> Integer.toString(shared.length());
          };
      case Negate(KernelExpression operand) -> negate(operand);
      case Convert convert -> convert(convert);
      case Binary binary -> binary(binary);
      case Compare compare -> "(" + comparison(compare) + ")";
      case Order order -> order(order);
      case Call call -> call(call.function(), call.arguments(), false);
    };
  }

  private String constant(ValueType type, long bits) {
    return switch (type) {
      case INT ->
          bits == Integer.MIN_VALUE
              ? "(-2147483647 - 1)"
              : bits < 0 ? "(" + bits + ")" : Long.toString(bits);
      case LONG -> {
        String suffix = language.longSuffix();
        yield bits == Long.MIN_VALUE
            ? "(-9223372036854775807" + suffix + " - 1)"
            : "(" + bits + suffix + ")";
      }
      case FLOAT -> {
        float value = Float.intBitsToFloat((int) bits);
        yield Float.isFinite(value)
            ? "(" + Float.toHexString(value) + "f)"
            : language.call(Function.FLOAT_OF_BITS, constant(ValueType.INT, bits));
      }
      case DOUBLE -> {
        requireDoubles("64-bit floating point");
        double value = Double.longBitsToDouble(bits);
        yield Double.isFinite(value)
            ? "(" + Double.toHexString(value) + ")"
            : language.call(Function.DOUBLE_OF_BITS, constant(ValueType.LONG, bits));
      }
    };
  }

  private String negate(KernelExpression operand) {
    ValueType type = operand.type();
    return type.isFloating()
        ? "(-" + of(operand) + ")"
        : "((" + type(type) + ")(0 - (" + unsigned(type) + ")" + of(operand) + "))";
  }

  private String convert(Convert convert) {
    Conversion conversion = convert.conversion();
    if (conversion == Conversion.D2F && isFunctionOfFloats(convert.operand())) {
      Call call = (Call) convert.operand();
      if (!device.fp64()) {
        if (call.function() == Function.FMA_DOUBLE) {
          throw refuse(
              "a fma of doubles (Math.fma of floats needs none; rounding a double's to float"
                  + " rounds twice)");
        }
        return call(call.function(), call.arguments(), true);
      }
    }
    String value = of(convert.operand());
    return switch (conversion) {
      case I2B -> "((int)(" + language.dialect().typeName(ScalarType.INT8) + ")" + value + ")";
      case I2S -> "((int)(short)" + value + ")";
      case I2C -> "(" + value + " & 0xffff)";
      case F2I, F2L, D2I, D2L ->
          prelude.saturating(conversion, type(conversion.from()), type(conversion.to()))
              + "("
              + value
              + ")";
      default -> "((" + type(conversion.to()) + ")" + value + ")";
    };
  }

  /** Returns whether an expression is a function of doubles whose arguments are floats. */
  private static boolean isFunctionOfFloats(KernelExpression expression) {
    return expression instanceof Call(Function function, List<KernelExpression> arguments)
        && function.result() == ValueType.DOUBLE
        && function.parameters().stream().allMatch(type -> type == ValueType.DOUBLE)
        && arguments.stream().allMatch(ExpressionWriter::isFloat);
  }

  private static boolean isFloat(KernelExpression argument) {
    return switch (argument) {
      case Convert convert -> convert.conversion() == Conversion.F2D;
      case Constant(_, long bits) -> {
        double value = Double.longBitsToDouble(bits);
        yield Double.compare((float) value, value) == 0;
      }
      default -> false;
    };
  }

  private static KernelExpression asFloat(KernelExpression argument) {
    return switch (argument) {
      case Convert convert -> convert.operand();
      case Constant(_, long bits) ->
          new Constant(
              ValueType.FLOAT, Float.floatToRawIntBits((float) Double.longBitsToDouble(bits)));
      default -> throw new AssertionError(argument);
    };
  }

  private String binary(Binary binary) {
    ValueType type = binary.type();
    String left = of(binary.left());
    String right = of(binary.right());
    if (type.isFloating()) {
      return switch (binary.operator()) {
        case REMAINDER -> language.remainder(left, right);
        case DIVIDE -> quotient(type, left, right);
        default -> "(" + left + " " + binary.operator().symbol() + " " + right + ")";
      };
    }
    String signed = type(type);
    String unsigned = unsigned(type);
    String bits = type == ValueType.LONG ? "63" : "31";
    return switch (binary.operator()) {
      case ADD, SUBTRACT, MULTIPLY ->
          "(("
              + signed
              + ")(("
              + unsigned
              + ")"
              + left
              + " "
              + binary.operator().symbol()
              + " ("
              + unsigned
              + ")"
              + right
              + "))";
      case AND, OR, XOR -> "(" + left + " " + binary.operator().symbol() + " " + right + ")";
      case SHIFT_LEFT ->
          "((" + signed + ")((" + unsigned + ")" + left + " << (" + right + " & " + bits + ")))";
      case SHIFT_RIGHT -> "(" + left + " >> (" + right + " & " + bits + "))";
      case SHIFT_RIGHT_UNSIGNED ->
          "((" + signed + ")((" + unsigned + ")" + left + " >> (" + right + " & " + bits + ")))";
      case DIVIDE, REMAINDER -> throw new AssertionError(binary);
    };
  }

  private String quotient(ValueType type, String left, String right) {
    if (type == ValueType.DOUBLE || device.exactFloatDivision()) {
      return "(" + left + " / " + right + ")";
    }
    // A double has more than twice a float's digits, so rounding twice changes nothing.
    requireDoubles("the exact quotient of floats, which is computed in double");
    return "((float)((double)" + left + " / (double)" + right + "))";
  }

  private String order(Order order) {
    String left = of(order.left());
    String right = of(order.right());
    return "("
        + left
        + " < "
        + right
        + " ? -1 : "
        + left
        + " > "
        + right
        + " ? 1 : "
        + left
        + " == "
        + right
        + " ? 0 : "
        + order.unordered()
        + ")";
  }

  private String call(Function function, List<KernelExpression> arguments, boolean single) {
    List<String> texts = new ArrayList<>();
    for (KernelExpression argument : arguments) {
      texts.add(of(single ? asFloat(argument) : argument));
    }
    if (single && function == Function.SQRT && !device.exactFloatDivision()) {
      throw refuse("the exact square root of floats, which is computed in double");
    }
    String name = prelude.function(function, single).orElseGet(() -> language.name(function));
    return name + "(" + String.join(", ", texts) + ")";
  }

  /** Returns an atomic operation; its value is the previous element. */
  String atomic(
      AtomicOperation operation,
      ElementKind kind,
      boolean isShared,
      String address,
      String expected,
      String value) {
    if (kind == ElementKind.FLOAT) {
      String pointer =
          isShared ? language.sharedPointer("float") : language.dialect().pointer("float", false);
      String ints =
          isShared ? language.sharedPointer("int") : language.dialect().pointer("int", false);
      return prelude.atomicFloatAdd(isShared, pointer, ints) + "(" + address + ", " + value + ")";
    }
    if (kind == ElementKind.LONG) {
      if (!device.longAtomics()) {
        throw refuse(
            "atomic operations of 64 bits",
            statement ->
                statement instanceof Statement.Atomic step
                    && step.array().kind() == ElementKind.LONG);
      }
      usesLongAtomics = true;
    }
    return language.atomic(operation, kind, isShared, address, expected, value);
  }
}
