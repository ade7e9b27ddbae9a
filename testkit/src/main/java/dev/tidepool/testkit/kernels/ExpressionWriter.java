package dev.tidepool.testkit.kernels;

import dev.tidepool.testkit.kernels.Scope.Helper;
import dev.tidepool.testkit.kernels.Scope.OwnArray;
import dev.tidepool.testkit.kernels.Scope.Variable;
import java.util.ArrayList;
import java.util.List;

/** Writes random expressions. Most indices are inside of their arrays; most divisors are not 0. */
final class ExpressionWriter {
  private static final List<String> INTS =
      List.of(
          "0",
          "1",
          "2",
          "(-1)",
          "7",
          "31",
          "32",
          "(-7)",
          "255",
          "65535",
          "(-128)",
          "0x40000000",
          "Integer.MAX_VALUE",
          "Integer.MIN_VALUE",
          "SEVEN",
          "READ_INT");
  private static final List<String> LONGS =
      List.of(
          "0L",
          "1L",
          "(-1L)",
          "63L",
          "(-9L)",
          "0x100000000L",
          "Long.MAX_VALUE",
          "Long.MIN_VALUE",
          "0x7fffffffL",
          "READ_LONG");
  private static final List<String> FLOATS =
      List.of(
          "0f",
          "(-0f)",
          "1f",
          "0.5f",
          "(-2.5f)",
          "3e9f",
          "1e-40f",
          "Float.MAX_VALUE",
          "Float.NaN",
          "Float.POSITIVE_INFINITY",
          "16777217f",
          "READ_FLOAT");
  private static final List<String> DOUBLES =
      List.of(
          "0d",
          "(-0d)",
          "1d",
          "0.1",
          "(-1.5)",
          "2147483648.5",
          "1e19",
          "1e-310",
          "Double.MIN_VALUE",
          "Double.NaN",
          "Double.NEGATIVE_INFINITY",
          "READ_DOUBLE");

  private final Decisions decisions;
  private final Scope scope;
  private final List<Helper> helpers;
  private int mostSteps;

  /** Creates a writer for a scope; its expressions may call some methods. */
  ExpressionWriter(Decisions decisions, Scope scope, List<Helper> helpers) {
    this.decisions = decisions;
    this.scope = scope;
    this.helpers = helpers;
  }

  /** Allows only calls of methods that execute at most so many statements. */
  void limitCalls(int steps) {
    mostSteps = steps;
  }

  String of(Kind kind, int depth) {
    boolean leavesOut = decisions.leavesOut();
    String text = written(kind, depth);
    return leavesOut ? kind.simplest() : text;
  }

  String ofAnyNumber(int depth) {
    return of(decisions.pick(decisions.kinds().numbers()), depth);
  }

  private String written(Kind kind, int depth) {
    if (depth <= 0) {
      return leaf(kind);
    }
    int choice = decisions.next(100);
    if (choice < 18) {
      return leaf(kind);
    }
    if (choice < 34) {
      return element(kind, depth - 1);
    }
    if (choice < 40) {
      return call(kind, depth - 1);
    }
    if (choice < 45) {
      return assignment(kind, depth - 1);
    }
    if (choice < 47) {
      return selection(kind, depth - 1);
    }
    if (choice < 49 && kind.isInteger() && !kind.isShort()) {
      // Not guarded, so the divisor may be 0.
      String operator = decisions.chance(50) ? " / " : " % ";
      return "(" + of(kind, depth - 1) + operator + of(kind, depth - 1) + ")";
    }
    return operation(kind, depth - 1);
  }

  private String operation(Kind kind, int depth) {
    Operations.Operation operation = decisions.pick(decisions.kinds().operations(kind));
    StringBuilder text = new StringBuilder(operation.texts().getFirst());
    for (int i = 0; i < operation.operands().length(); i++) {
      char operand = operation.operands().charAt(i);
      text.append(operand == 'n' ? ofAnyNumber(depth) : of(Kind.of(operand), depth));
      text.append(operation.texts().get(i + 1));
    }
    return text.toString();
  }

  private String leaf(Kind kind) {
    List<Variable> variables = scope.readable(kind);
    if (!variables.isEmpty() && decisions.chance(75)) {
      return decisions.pick(variables).name();
    }
    if (kind == Kind.INT && decisions.chance(5)) {
      return length();
    }
    if (scope.hasItem() && (kind == Kind.INT || kind == Kind.LONG) && decisions.chance(40)) {
      return (kind == Kind.INT ? "((int) " : "(") + itemNumber() + ")";
    }
    return switch (kind) {
      case BOOLEAN -> decisions.chance(50) ? "READ_BOOLEAN" : "(i > " + decisions.next(24) + ")";
      case BYTE, SHORT, CHAR -> "((" + kind.keyword() + ") " + decisions.pick(INTS) + ")";
      case INT ->
          decisions.chance(60) ? decisions.pick(INTS) : "(" + (decisions.next(200) - 100) + ")";
      case LONG -> decisions.chance(80) ? decisions.pick(LONGS) : "(" + decisions.anyLong() + "L)";
      case FLOAT ->
          decisions.chance(60) ? decisions.pick(FLOATS) : (decisions.next(4000) / 64f) + "f";
      case DOUBLE ->
          decisions.chance(60) ? decisions.pick(DOUBLES) : (decisions.next(4000) / 512d) + "d";
    };
  }

  private String itemNumber() {
    String number =
        decisions.pick(List.of("globalId", "localId", "groupId", "globalSize", "groupSize"));
    return "item." + number + "(" + decisions.next(3) + ")";
  }

  private String length() {
    if (!scope.arrays().isEmpty() && decisions.chance(50)) {
      return decisions.pick(scope.arrays()).name() + ".length";
    }
    if (!scope.hasArguments()) {
      return "SEVEN";
    }
    String which = decisions.chance(50) ? "r" : "w";
    return which + decisions.pick(decisions.kinds().elements()).letter() + ".length";
  }

  /** Returns an element of some array. */
  private String element(Kind kind, int depth) {
    if (kind == Kind.CHAR) {
      return leaf(kind);
    }
    List<OwnArray> own = scope.arrays(kind);
    if (!own.isEmpty() && decisions.chance(40)) {
      return ownElement(decisions.pick(own), depth);
    }
    if (!scope.hasArguments()) {
      return leaf(kind);
    }
    if (decisions.chance(25)) {
      return writableElement(kind, depth);
    }
    String array = "r" + kind.letter();
    return array + "[" + readableIndex(array, depth) + "]";
  }

  String ownElement(OwnArray array, int depth) {
    String index =
        decisions.chance(2)
            ? of(Kind.INT, depth)
            : !scope.counters().isEmpty() && decisions.chance(30)
                ? decisions.pick(scope.counters())
                : "(" + of(Kind.INT, depth) + " & " + (array.length() - 1) + ")";
    return array.name() + "[" + index + "]";
  }

  private String readableIndex(String array, int depth) {
    int choice = decisions.next(100);
    if (choice < 30 && !scope.counters().isEmpty()) {
      return affine();
    }
    if (choice < 40) {
      return scope.hasItem() && decisions.chance(30)
          ? coordinate() + " * " + decisions.between(1, 6)
          : "i";
    }
    if (choice < 47) {
      return "Math.floorMod(" + of(Kind.INT, depth) + ", " + array + ".length)";
    }
    if (choice < 52) {
      return array + ".length - 1 - (" + of(Kind.INT, depth) + " & 15)";
    }
    if (choice < 54) {
      return of(Kind.INT, depth);
    }
    if (choice < 56) {
      return "(" + of(Kind.INT, depth) + " & 63)";
    }
    return "(" + of(Kind.INT, depth) + " & " + (Scope.LEAST_LENGTH - 1) + ")";
  }

  /**
   * Returns an index that loops change by a constant, which checks in front of loops must analyse.
   */
  private String affine() {
    String counter = decisions.pick(scope.counters());
    return switch (decisions.next(scope.hasItem() ? 16 : 11)) {
      case 0, 1, 2 -> counter;
      case 3, 4 -> "i + " + counter;
      case 5 -> counter + " * " + decisions.between(1, 4) + " + " + decisions.between(0, 3);
      case 6 -> counter + " + " + decisions.pick(scope.counters());
      case 7 -> "i - " + counter + " + 4";
      case 8 -> "(" + counter + " << " + decisions.between(0, 2) + ") + i";
      case 9 -> "pi % 8 + 8 + " + counter;
      case 10 -> counter + " * 0x40000000 + " + counter;
      case 11, 12 -> coordinate() + " + " + counter;
      case 13, 14 -> coordinate() + " * " + decisions.between(2, 6) + " + " + counter;
      default -> "16 - " + counter;
    };
  }

  /** Returns the item's index in one dimension. */
  private String coordinate() {
    return "(int) item.globalId(" + decisions.next(3) + ")";
  }

  /** Returns an element that belongs to the item, of an array that the kernel writes. */
  String writableElement(Kind kind, int depth) {
    String array = "w" + kind.letter();
    int stride = scope.stride();
    if (decisions.chance(1)) {
      return array + "[" + (decisions.chance(50) ? "-1 - i" : array + ".length + i") + "]";
    }
    String start = stride == 1 ? "i" : "i * " + stride;
    if (stride == 1 || decisions.chance(30)) {
      return array + "[" + start + "]";
    }
    if (decisions.chance(40)) {
      return array + "[" + start + " + " + decisions.next(stride) + "]";
    }
    return array + "[" + start + " + (" + of(Kind.INT, depth) + " & " + (stride - 1) + ")]";
  }

  private String call(Kind kind, int depth) {
    List<Helper> fitting =
        helpers.stream()
            .filter(helper -> helper.result().equals(kind.keyword()) && isCallable(helper))
            .toList();
    return fitting.isEmpty() ? operation(kind, depth) : call(decisions.pick(fitting), depth);
  }

  private boolean isCallable(Helper helper) {
    return helper.steps() <= mostSteps
        && (helper.array().isEmpty() || !scope.arrays(helper.array().getFirst()).isEmpty());
  }

  /** Returns the methods that can be called here. */
  List<Helper> callable() {
    return helpers.stream().filter(this::isCallable).toList();
  }

  String call(Helper helper, int depth) {
    List<String> arguments = new ArrayList<>();
    for (Kind parameter : helper.parameters()) {
      arguments.add(of(parameter, depth));
    }
    if (!helper.array().isEmpty()) {
      arguments.add(decisions.pick(scope.arrays(helper.array().getFirst())).name());
    }
    // Every method has the item's index and one argument as parameters.
    return helper.name()
        + "(i, pi"
        + (arguments.isEmpty() ? "" : ", ")
        + String.join(", ", arguments)
        + ")";
  }

  /** Returns an assignment as a value, so that results depend on the order of evaluation. */
  private String assignment(Kind kind, int depth) {
    List<Variable> targets = scope.assignable(kind);
    if (targets.isEmpty()) {
      return operation(kind, depth);
    }
    String target = decisions.pick(targets).name();
    if (kind == Kind.BOOLEAN) {
      return "(" + target + (decisions.chance(50) ? " = " : " ^= ") + of(kind, depth) + ")";
    }
    return switch (decisions.next(5)) {
      case 0 -> "(" + target + "++)";
      case 1 -> "(--" + target + ")";
      case 2 -> "(" + target + " = " + of(kind, depth) + ")";
      default -> "(" + compound(target, kind, depth) + ")";
    };
  }

  /** Returns a compound assignment to a variable or element. */
  String compound(String target, Kind kind, int depth) {
    if (kind == Kind.BOOLEAN) {
      String operator = decisions.pick(List.of("&=", "|=", "^="));
      return target + " " + operator + " " + of(Kind.BOOLEAN, depth);
    }
    if (!kind.isInteger()) {
      String operator = decisions.pick(List.of("+=", "-=", "*=", "/=", "%="));
      return target + " " + operator + " " + ofAnyNumber(depth);
    }
    return switch (decisions.next(10)) {
      case 0, 1 ->
          target
              + " "
              + decisions.pick(List.of("<<=", ">>=", ">>>="))
              + " "
              + of(decisions.chance(70) ? Kind.INT : Kind.LONG, depth);
      case 2, 3, 4 ->
          target
              + " "
              + decisions.pick(List.of("&=", "|=", "^="))
              + " "
              + of(decisions.chance(70) ? Kind.INT : Kind.LONG, depth);
      case 5 ->
          target + decisions.pick(List.of(" /= ", " %= ")) + "(" + of(Kind.INT, depth) + " | 1)";
      default ->
          target + " " + decisions.pick(List.of("+=", "-=", "*=")) + " " + ofAnyNumber(depth);
    };
  }

  /** Returns a switch expression. */
  private String selection(Kind kind, int depth) {
    StringBuilder text = new StringBuilder("(switch ((int) (");
    text.append(of(Kind.INT, depth)).append(decisions.chance(70) ? " & 3)) {" : ")) {");
    int first = decisions.chance(50) ? 0 : -1;
    int step = decisions.chance(70) ? 1 : 1000;
    for (int i = 0; i < 3; i++) {
      text.append(" case ").append(first + i * step).append(" -> ");
      text.append(of(kind, depth)).append(";");
    }
    return text.append(" default -> ").append(of(kind, depth)).append("; })").toString();
  }
}
