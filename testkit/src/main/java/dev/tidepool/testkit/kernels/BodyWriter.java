package dev.tidepool.testkit.kernels;

import dev.tidepool.testkit.kernels.Scope.Helper;
import dev.tidepool.testkit.kernels.Scope.OwnArray;
import dev.tidepool.testkit.kernels.Scope.Variable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Writes the random statements of one method. Every loop ends after a few iterations. */
final class BodyWriter {
  // About how many statements of innermost loops an item may execute.
  private static final int MOST_STEPS = 72;

  private enum TargetKind {
    BLOCK,
    SWITCH,
    LOOP
  }

  /** The target of a jump; the label may be empty. */
  private record Target(String label, TargetKind kind) {}

  private final Decisions decisions;
  private final Scope scope;
  private final ExpressionWriter expressions;
  private final String prefix;
  private final String result;
  private final StringBuilder text = new StringBuilder();
  private final List<Target> targets = new ArrayList<>();
  private int indent = 2;
  private int names;
  private int left;
  private int steps = 1;
  private int mostSteps = 1;

  /**
   * Creates a writer for a method.
   *
   * @param prefix the prefix of the names of variables
   * @param result {@code void} or the keyword of the method's return type
   * @param statements about how many statements to write
   */
  BodyWriter(
      Decisions decisions,
      Scope scope,
      List<Helper> helpers,
      String prefix,
      String result,
      int statements) {
    this.decisions = decisions;
    this.scope = scope;
    this.expressions = new ExpressionWriter(decisions, scope, helpers);
    this.prefix = prefix;
    this.result = result;
    this.left = statements;
    expressions.limitCalls(MOST_STEPS);
  }

  /** Returns the text so far. */
  String text() {
    return text.toString();
  }

  /** Returns about how many statements an item executes. */
  int steps() {
    return mostSteps * 4;
  }

  ExpressionWriter expressions() {
    return expressions;
  }

  /** Writes all statements. */
  void statements() {
    while (hasMore()) {
      statement();
    }
  }

  /** Returns whether there are statements to write. */
  boolean hasMore() {
    return left > 0;
  }

  /** Writes one statement with the statements inside of it. */
  void statement() {
    statement(0);
  }

  void line(String line) {
    text.append("  ".repeat(indent)).append(line).append("\n");
  }

  private String name(String kind) {
    return prefix + kind + names++;
  }

  private int depth() {
    return decisions.chance(15) ? 3 : decisions.between(1, 2);
  }

  private String condition() {
    return expressions.of(Kind.BOOLEAN, depth());
  }

  private void statement(int nesting) {
    left--;
    int start = text.length();
    boolean leavesOut = decisions.leavesOut();
    write(nesting);
    if (leavesOut) {
      text.setLength(start);
    }
  }

  private void write(int nesting) {
    int choice = decisions.next(100);
    if (choice < 18) {
      declaration();
    } else if (choice < 36) {
      assignment();
    } else if (choice < 52) {
      store();
    } else if (choice < 56) {
      ownArray();
    } else if (choice < 60) {
      jump();
    } else if (choice < 63) {
      call();
    } else if (nesting >= 3) {
      store();
    } else if (choice < 74) {
      conditional(nesting);
    } else if (choice < 82) {
      selection(nesting);
    } else if (choice < 84) {
      labelledBlock(nesting);
    } else {
      loop(nesting);
    }
  }

  private void block(int nesting, int most) {
    int[] mark = scope.mark();
    indent++;
    int count = left > 0 ? decisions.between(1, most) : 1;
    for (int i = 0; i < count; i++) {
      statement(nesting + 1);
    }
    indent--;
    scope.backTo(mark);
  }

  private void declaration() {
    Kind kind = decisions.pick(decisions.kinds().all());
    String name = name(String.valueOf(kind.letter()));
    if (decisions.chance(15)) {
      line(kind.keyword() + " " + name + ";");
      line("if (" + condition() + ") {");
      line("  " + name + " = " + expressions.of(kind, depth()) + ";");
      line("} else {");
      line("  " + name + " = " + expressions.of(kind, depth()) + ";");
      line("}");
    } else {
      line(kind.keyword() + " " + name + " = " + expressions.of(kind, depth()) + ";");
    }
    scope.add(new Variable(name, kind, true));
  }

  private void assignment() {
    List<Variable> assignable = scope.assignable();
    if (assignable.isEmpty()) {
      declaration();
      return;
    }
    Variable target = decisions.pick(assignable);
    int choice = decisions.next(10);
    if (choice < 1 && target.kind() != Kind.BOOLEAN) {
      line(target.name() + (decisions.chance(50) ? "++;" : "--;"));
    } else if (choice < 5) {
      line(expressions.compound(target.name(), target.kind(), depth()) + ";");
    } else {
      line(target.name() + " = " + expressions.of(target.kind(), depth()) + ";");
    }
  }

  private void store() {
    if (!scope.stored().isEmpty() && decisions.chance(10)) {
      StoredArray array = decisions.pick(scope.stored());
      line(array.name() + "[i] = " + expressions.of(array.kind(), depth()) + ";");
      return;
    }
    Kind kind;
    String element;
    if ((!scope.arrays().isEmpty() && decisions.chance(40)) || !scope.hasArguments()) {
      if (scope.arrays().isEmpty()) {
        assignment();
        return;
      }
      OwnArray array = decisions.pick(scope.arrays());
      kind = array.kind();
      element = expressions.ownElement(array, 1);
    } else {
      kind = decisions.pick(decisions.kinds().elements());
      element = expressions.writableElement(kind, 1);
    }
    int choice = decisions.next(10);
    if (choice < 1 && kind != Kind.BOOLEAN) {
      line(element + (decisions.chance(50) ? "++;" : "--;"));
    } else if (choice < 4) {
      line(expressions.compound(element, kind, depth()) + ";");
    } else {
      line(element + " = " + expressions.of(kind, depth()) + ";");
    }
  }

  private void ownArray() {
    Kind kind = decisions.pick(decisions.kinds().elements());
    int length = decisions.chance(50) ? 4 : 8;
    String name = name("a");
    String type = kind.keyword();
    line(type + "[] " + name + " = new " + type + "[" + length + "];");
    scope.add(new OwnArray(name, kind, length));
  }

  private void call() {
    List<Helper> callable = expressions.callable();
    if (callable.isEmpty()) {
      assignment();
    } else {
      line(expressions.call(decisions.pick(callable), 2) + ";");
    }
  }

  private void jump() {
    List<String> jumps = new ArrayList<>();
    boolean canBreak = false;
    boolean canContinue = false;
    for (Target target : targets) {
      canBreak |= target.kind() != TargetKind.BLOCK;
      canContinue |= target.kind() == TargetKind.LOOP;
      if (!target.label().isEmpty()) {
        jumps.add("break " + target.label() + ";");
        if (target.kind() == TargetKind.LOOP) {
          jumps.add("continue " + target.label() + ";");
        }
      }
    }
    if (canBreak) {
      jumps.add("break;");
    }
    if (canContinue) {
      jumps.add("continue;");
    }
    if (jumps.isEmpty() || decisions.chance(25)) {
      leave();
      return;
    }
    line("if (" + condition() + ") {");
    line("  " + decisions.pick(jumps));
    line("}");
  }

  private void leave() {
    line("if (" + condition() + ") {");
    line(
        "  return"
            + (result.equals("void") ? "" : " " + expressions.of(kindOfResult(), depth()))
            + ";");
    line("}");
  }

  private Kind kindOfResult() {
    return Kind.valueOf(result.toUpperCase(Locale.ROOT));
  }

  private void conditional(int nesting) {
    line("if (" + condition() + ") {");
    block(nesting, 3);
    if (decisions.chance(15)) {
      line("} else if (" + condition() + ") {");
      block(nesting, 2);
    }
    if (decisions.chance(50)) {
      line("} else {");
      block(nesting, 3);
    }
    line("}");
  }

  private void labelledBlock(int nesting) {
    String label = name("block");
    line(label + ": {");
    targets.add(new Target(label, TargetKind.BLOCK));
    block(nesting, 4);
    targets.removeLast();
    line("}");
  }

  private void selection(int nesting) {
    boolean arrows = decisions.chance(40);
    String selector =
        decisions.chance(70)
            ? "(" + expressions.of(Kind.INT, 2) + ") & 7"
            : "(int) " + expressions.of(decisions.chance(80) ? Kind.INT : Kind.CHAR, 2);
    line("switch (" + selector + ") {");
    indent++;
    int step = decisions.chance(70) ? 1 : 97;
    int label = decisions.between(0, 2);
    int cases = decisions.between(1, 4);
    boolean hasDefault = decisions.chance(70);
    int defaultAt = decisions.next(cases + 1);
    targets.add(new Target("", TargetKind.SWITCH));
    for (int i = 0; i <= cases; i++) {
      if (i == defaultAt) {
        if (hasDefault) {
          branch("default", arrows, nesting);
        }
      } else {
        String labels = "case " + label;
        label += step;
        if (decisions.chance(25)) {
          labels += ", " + label;
          label += step;
        }
        branch(labels, arrows, nesting);
      }
    }
    targets.removeLast();
    indent--;
    line("}");
  }

  private void branch(String labels, boolean arrow, int nesting) {
    line(labels + (arrow ? " -> {" : ": {"));
    block(nesting, 3);
    if (!arrow && decisions.chance(60)) {
      line("  break;");
    }
    line("}");
  }

  private void loop(int nesting) {
    if (decisions.chance(12)) {
      forEach(nesting);
      return;
    }
    int count = decisions.between(1, 6);
    if (steps * count > MOST_STEPS) {
      store();
      return;
    }
    String label = label();
    String start = start(label);
    int[] mark = scope.mark();
    String end = "}";
    String exit = "";
    switch (decisions.next(10)) {
      case 0 -> {
        String fuel = fuel();
        line(start + "while (" + condition() + " && " + fuel + "++ < " + count + ") {");
      }
      case 1 -> {
        String fuel = fuel();
        line(start + "do {");
        // Variables of the body are not visible in the condition.
        end = "} while (" + fuel + "++ < " + (count - 1) + " && " + condition() + ");";
      }
      case 2 -> {
        String fuel = fuel();
        line(start + (decisions.chance(50) ? "while (true) {" : "for (; ; ) {"));
        exit = "if (" + condition() + " | ++" + fuel + " > " + count + ") {";
      }
      default -> line(start + counted(count));
    }
    rounds(nesting, count, label, exit);
    line(end);
    scope.backTo(mark);
  }

  /** Writes a loop over an array that no item writes, or over one of the item's own. */
  private void forEach(int nesting) {
    List<OwnArray> own = scope.arrays();
    Kind kind;
    String array;
    int count;
    if (scope.hasArguments() && (own.isEmpty() || decisions.chance(50))) {
      kind = decisions.pick(decisions.kinds().elements());
      array = "r" + kind.letter();
      count = Scope.MOST_LENGTH;
    } else if (own.isEmpty()) {
      store();
      return;
    } else {
      OwnArray chosen = decisions.pick(own);
      kind = chosen.kind();
      array = chosen.name();
      count = chosen.length();
    }
    if (steps * count > MOST_STEPS) {
      store();
      return;
    }
    String label = label();
    String element = name(String.valueOf(kind.letter()));
    int[] mark = scope.mark();
    line(start(label) + "for (" + kind.keyword() + " " + element + " : " + array + ") {");
    scope.add(new Variable(element, kind, true));
    rounds(nesting, count, label, "");
    line("}");
    scope.backTo(mark);
  }

  private String label() {
    return decisions.chance(30) ? name("loop") : "";
  }

  private static String start(String label) {
    return label.isEmpty() ? "" : label + ": ";
  }

  /**
   * Writes the body of a loop.
   *
   * @param count the largest number of rounds
   * @param exit the head of a condition that ends the loop; empty without one
   */
  private void rounds(int nesting, int count, String label, String exit) {
    steps *= count;
    mostSteps = Math.max(mostSteps, steps);
    expressions.limitCalls(MOST_STEPS / steps);
    targets.add(new Target(label, TargetKind.LOOP));
    if (!exit.isEmpty()) {
      // First, because later statements may continue the loop.
      line("  " + exit);
      line("    break;");
      line("  }");
    }
    block(nesting, 4);
    targets.removeLast();
    steps /= count;
    expressions.limitCalls(MOST_STEPS / steps);
  }

  private String fuel() {
    String fuel = name("n");
    line("int " + fuel + " = 0;");
    scope.add(new Variable(fuel, Kind.INT, false));
    return fuel;
  }

  /** Returns the head of a loop with a counter. */
  private String counted(int count) {
    String k = name("k");
    int from = decisions.chance(60) ? 0 : decisions.between(-2, 9);
    String head =
        switch (decisions.next(14)) {
          case 0 -> "int K = " + (from + count - 1) + "; K >= " + from + "; K--";
          case 1 -> "int K = " + from + "; K != " + (from + count) + "; K++";
          case 2 -> "int K = " + from + "; K < " + (from + 2 * count) + "; K += 2";
          case 3 -> "int K = Integer.MAX_VALUE - " + (count - 1) + "; K > 0; K++";
          case 4 -> "int K = Integer.MIN_VALUE; K < Integer.MIN_VALUE + " + count + "; K++";
          case 5 -> "int K = pi & 7; K <= (pi & 7) + " + (count - 1) + "; K++";
          case 6 -> {
            String bound = name("m");
            int from2 = Math.max(from, 0);
            line("int " + bound + " = " + from2 + " + (" + expressions.of(Kind.INT, 2) + " & 3);");
            scope.add(new Variable(bound, Kind.INT, false));
            yield "int K = " + from2 + "; K < " + bound + "; K++";
          }
          case 7 ->
              "int K = 0; K < "
                  + (3 * count)
                  + "; K += 3 + ("
                  + expressions.of(Kind.INT, 1)
                  + " & 1)";
          // Large steps, so that one end is often outside of an array and the other one inside.
          case 8 -> "int K = " + (from + 7 * (count - 1)) + "; K >= " + from + "; K -= 7";
          case 9 -> "int K = pi & 31; K > (pi & 31) - " + (5 * count) + "; K -= 5";
          default -> "int K = " + from + "; K < " + (from + count) + "; K++";
        };
    scope.add(new Variable(k, Kind.INT, false));
    scope.addCounter(k);
    return "for (" + head.replace("K", k) + ") {";
  }
}
