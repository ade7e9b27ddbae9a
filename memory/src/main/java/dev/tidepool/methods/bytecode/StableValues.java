package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Convert;
import dev.tidepool.methods.tree.KernelExpression.Read;
import dev.tidepool.methods.tree.Rewriter;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Assign;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Replaces variables by their values if these never change for an item: constants, scalar
 * arguments, lengths, and numbers of the item. All assignments to such a variable have the same
 * value. Java's compiler ensures that the variable is set before it is read.
 */
final class StableValues {
  /** Values with more conversions stay in their variables: each can contain the one before it. */
  private static final int MOST_CONVERSIONS = 4;

  private final Map<Variable, KernelExpression> values = new HashMap<>();
  private final Set<Variable> others = new HashSet<>();

  private StableValues() {}

  /** Returns the statements with variables replaced by stable values. */
  static List<Statement> propagate(List<Statement> statements) {
    List<Statement> known = statements;
    while (true) {
      StableValues stable = new StableValues();
      Walk.statements(known, stable::record);
      if (stable.values.isEmpty()) {
        return known;
      }
      // Variables that are copies of these become stable in the next round.
      known =
          Rewriter.rewrite(
              known,
              statement ->
                  statement instanceof Assign(Variable target, KernelExpression _)
                          && stable.values.containsKey(target)
                      ? List.of()
                      : List.of(statement),
              stable::replaced);
    }
  }

  private void record(Statement statement) {
    Variable target = Walk.target(statement);
    if (target == null) {
      return;
    }
    boolean isFirst = others.add(target);
    boolean isSame =
        statement instanceof Assign(Variable _, KernelExpression value)
            && (isFirst ? isStable(value, MOST_CONVERSIONS) : value.equals(values.get(target)));
    if (!isSame) {
      values.remove(target);
    } else if (statement instanceof Assign(Variable _, KernelExpression value)) {
      values.put(target, value);
    }
  }

  private static boolean isStable(KernelExpression value, int conversions) {
    return switch (value) {
      case KernelExpression.Constant _,
          KernelExpression.ScalarArgument _,
          KernelExpression.ItemNumber _,
          KernelExpression.Length _ ->
          true;
      case Convert convert -> conversions > 0 && isStable(convert.operand(), conversions - 1);
      default -> false;
    };
  }

  private KernelExpression replaced(KernelExpression expression) {
    return expression instanceof Read(Variable variable)
        ? values.getOrDefault(variable, expression)
        : expression;
  }
}
