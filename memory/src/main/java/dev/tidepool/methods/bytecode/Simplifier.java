package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Block;
import dev.tidepool.methods.tree.Statement.Break;
import dev.tidepool.methods.tree.Statement.Continue;
import dev.tidepool.methods.tree.Statement.If;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.Statement.Loop;
import dev.tidepool.methods.tree.Statement.Return;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Removes jumps to places that are reached without them, and blocks that nothing leaves early. A
 * loop then has the form of Java's {@code while}: it begins with the condition under which it is
 * left, and ends with the step of its variable.
 */
final class Simplifier {
  private Simplifier() {}

  /** Returns the statements of a kernel, simplified. */
  static List<Statement> simplify(List<Statement> statements) {
    List<Statement> before = statements;
    List<Statement> after = list(before, Set.of(new Return()));
    // Each round may allow further changes; every change removes a statement or flattens a branch.
    while (!after.equals(before)) {
      before = after;
      after = list(before, Set.of(new Return()));
    }
    return after;
  }

  /**
   * Simplifies a list.
   *
   * @param ends the jumps that lead to the same place as the end of the list
   */
  private static List<Statement> list(List<Statement> statements, Set<Statement> ends) {
    List<Statement> reached = reached(statements);
    List<Statement> simple = new ArrayList<>();
    for (int i = 0; i < reached.size(); i++) {
      boolean isLast = i == reached.size() - 1;
      Set<Statement> ownEnds = isLast ? ends : Set.of();
      switch (reached.get(i)) {
        case If branch -> simple.addAll(branch(branch, ownEnds));
        case Block block -> simple.addAll(block(block, ownEnds));
        case Loop loop -> simple.add(loop(loop, ownEnds));
        default -> simple.add(reached.get(i));
      }
    }
    // Only jumps are hashed: a statement's hash goes through all that it holds.
    while (endsWithJump(simple) && ends.contains(simple.getLast())) {
      simple.removeLast();
    }
    return simple;
  }

  /** Returns the statements up to the first jump, included. */
  private static List<Statement> reached(List<Statement> statements) {
    for (int i = 0; i < statements.size(); i++) {
      if (isJump(statements.get(i))) {
        return statements.subList(0, i + 1);
      }
    }
    return statements;
  }

  private static boolean isJump(Statement statement) {
    return statement instanceof Break
        || statement instanceof Continue
        || statement instanceof Return;
  }

  private static List<Statement> branch(If branch, Set<Statement> ends) {
    if (ends.contains(new Return())) {
      // An early return is kept, so that a barrier after it is not in a condition.
      boolean first = returns(branch.then()) && !branch.otherwise().isEmpty();
      boolean second = returns(branch.otherwise()) && !branch.then().isEmpty();
      if (first && (!second || branch.then().size() < branch.otherwise().size())) {
        return early(branch.condition(), branch.then(), branch.otherwise(), ends);
      }
      if (second) {
        return early(not(branch.condition()), branch.otherwise(), branch.then(), ends);
      }
    }
    List<Statement> then = list(branch.then(), ends);
    List<Statement> otherwise = list(branch.otherwise(), ends);
    if (then.isEmpty() && otherwise.isEmpty()) {
      return List.of();
    }
    if (then.isEmpty()) {
      return List.of(new If(not(branch.condition()), otherwise, List.of()));
    }
    if (otherwise.isEmpty()) {
      return List.of(new If(branch.condition(), then, List.of()));
    }
    List<Statement> flat = new ArrayList<>();
    if (endsWithJump(then)) {
      flat.add(new If(branch.condition(), then, List.of()));
      flat.addAll(otherwise);
    } else if (endsWithJump(otherwise)) {
      flat.add(new If(not(branch.condition()), otherwise, List.of()));
      flat.addAll(then);
    } else {
      flat.add(new If(branch.condition(), then, otherwise));
    }
    return flat;
  }

  private static boolean returns(List<Statement> statements) {
    List<Statement> reached = reached(statements);
    return !reached.isEmpty() && reached.getLast() instanceof Return;
  }

  private static List<Statement> early(
      KernelExpression condition,
      List<Statement> returning,
      List<Statement> others,
      Set<Statement> ends) {
    List<Statement> flat = new ArrayList<>();
    flat.add(new If(condition, list(returning, Set.of()), List.of()));
    flat.addAll(list(others, ends));
    return flat;
  }

  private static boolean endsWithJump(List<Statement> statements) {
    return !statements.isEmpty() && isJump(statements.getLast());
  }

  private static KernelExpression not(KernelExpression condition) {
    return condition instanceof Compare compare
        ? compare.not()
        : new Compare(Comparison.EQUAL, condition, Constant.of(0), false);
  }

  private static List<Statement> block(Block block, Set<Statement> ends) {
    Set<Statement> all = new HashSet<>(ends);
    all.add(new Break(block.label()));
    List<Statement> body = list(block.body(), all);
    return leaves(body, block.label()) ? List.of(new Block(block.label(), body)) : body;
  }

  /**
   * Simplifies a loop. A jump out of the loop to the place of the loop's end breaks just the loop.
   */
  private static Loop loop(Loop loop, Set<Statement> ends) {
    Set<Statement> jumps = new HashSet<>(ends);
    // An early return is kept.
    jumps.remove(new Return());
    Label label = loop.label();
    return new Loop(
        label, renamed(list(loop.body(), Set.of(new Continue(label))), jumps, new Break(label)));
  }

  private static List<Statement> renamed(
      List<Statement> statements, Set<Statement> from, Break to) {
    return statements.stream()
        .map(
            statement ->
                switch (statement) {
                  case Break jump -> from.contains(jump) ? to : jump;
                  case Continue jump -> from.contains(jump) ? to : jump;
                  case If(KernelExpression condition, var then, var otherwise) ->
                      new If(condition, renamed(then, from, to), renamed(otherwise, from, to));
                  case Block(Label label, var body) -> new Block(label, renamed(body, from, to));
                  case Loop(Label label, var body) -> new Loop(label, renamed(body, from, to));
                  default -> statement;
                })
        .toList();
  }

  private static boolean leaves(List<Statement> statements, Label label) {
    return statements.stream()
        .anyMatch(
            statement ->
                switch (statement) {
                  case Break(Label left) -> left.equals(label);
                  case If(KernelExpression _, var then, var otherwise) ->
                      leaves(then, label) || leaves(otherwise, label);
                  case Block(Label _, var body) -> leaves(body, label);
                  case Loop(Label _, var body) -> leaves(body, label);
                  default -> false;
                });
  }
}
