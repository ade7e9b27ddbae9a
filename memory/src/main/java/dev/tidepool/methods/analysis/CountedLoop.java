package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A loop that begins with a test of an int variable against a bound, and adds a constant to the
 * variable once per round.
 *
 * @param step the constant
 * @param last a long that the variable does not pass in a round, in the direction of the step
 * @param assigned the variables that the loop sets
 */
record CountedLoop(
    Statement.Loop loop,
    Variable variable,
    int step,
    KernelExpression last,
    Set<Variable> assigned) {

  /** Returns the counted loop that a loop is; null if it is not counted. */
  static @Nullable CountedLoop of(Statement.Loop loop) {
    if (loop.body().isEmpty()
        || !(loop.body().getFirst() instanceof Statement.If exit)
        || !(exit.condition() instanceof KernelExpression.Compare compare)) {
      return null;
    }
    boolean leavesIfTrue = isBreak(exit.then()) && exit.otherwise().isEmpty();
    boolean leavesIfFalse = isBreak(exit.otherwise()) && exit.then().isEmpty();
    if (!leavesIfTrue && !leavesIfFalse) {
      return null;
    }
    Comparison stays = compare.comparison();
    if (leavesIfTrue != compare.negated()) {
      stays = opposite(stays);
    }
    Set<Variable> assigned = new HashSet<>();
    Walk.statements(
        loop.body(),
        statement -> {
          Variable target = Walk.target(statement);
          if (target != null) {
            assigned.add(target);
          }
        });
    if (compare.left() instanceof KernelExpression.Read(Variable variable)) {
      CountedLoop counted = of(loop, variable, stays, compare.right(), assigned);
      if (counted != null) {
        return counted;
      }
    }
    return compare.right() instanceof KernelExpression.Read(Variable variable)
        ? of(loop, variable, swapped(stays), compare.left(), assigned)
        : null;
  }

  private static @Nullable CountedLoop of(
      Statement.Loop loop,
      Variable variable,
      Comparison stays,
      KernelExpression bound,
      Set<Variable> assigned) {
    Integer step = variable.type() == ValueType.INT ? step(loop.body(), variable) : null;
    if (step == null || step == 0 || !isInvariant(bound, assigned)) {
      return null;
    }
    KernelExpression limit = Affine.wide(bound);
    KernelExpression one = Constant.of(1L);
    boolean up = step > 0;
    if (stays == Comparison.LESS && up) {
      limit = new KernelExpression.Binary(Operator.SUBTRACT, limit, one);
    } else if (stays == Comparison.GREATER && !up) {
      limit = new KernelExpression.Binary(Operator.ADD, limit, one);
    } else if (stays != (up ? Comparison.LESS_EQUAL : Comparison.GREATER_EQUAL)) {
      return null;
    }
    return new CountedLoop(loop, variable, step, limit, assigned);
  }

  /** Returns whether an expression has the same value in all rounds. */
  boolean isInvariant(KernelExpression expression) {
    return isInvariant(expression, assigned);
  }

  private static boolean isInvariant(KernelExpression expression, Set<Variable> assigned) {
    return !Walk.readsAny(expression, assigned);
  }

  /** Returns a test that the variable stays an int when the step is added to the last value. */
  KernelExpression.Compare doesNotWrap() {
    KernelExpression beyond =
        new KernelExpression.Binary(Operator.ADD, last, Constant.of((long) step));
    return step > 0
        ? new KernelExpression.Compare(
            Comparison.LESS_EQUAL, beyond, Constant.of((long) Integer.MAX_VALUE), false)
        : new KernelExpression.Compare(
            Comparison.GREATER_EQUAL, beyond, Constant.of((long) Integer.MIN_VALUE), false);
  }

  /** Returns whether {@link #doesNotWrap()} always holds. */
  boolean neverWraps() {
    return (step == 1 || step == -1) && last instanceof KernelExpression.Binary;
  }

  private static boolean isBreak(List<Statement> list) {
    return list.size() == 1 && list.getFirst() instanceof Statement.Break;
  }

  /**
   * Returns the constant that is added to a variable in a round; null if the variable is set in
   * another way.
   */
  private static @Nullable Integer step(List<Statement> body, Variable variable) {
    int[] count = {0};
    Walk.statements(
        body,
        statement -> {
          if (variable.equals(Walk.target(statement))) {
            count[0]++;
          }
        });
    if (count[0] != 1) {
      return null;
    }
    for (Statement statement : body) {
      if (statement instanceof Statement.Assign(Variable target, KernelExpression value)
          && target.equals(variable)
          && value instanceof KernelExpression.Binary(Operator operator, var left, var right)) {
        boolean first =
            left instanceof KernelExpression.Read(Variable read) && read.equals(variable);
        boolean second =
            right instanceof KernelExpression.Read(Variable read) && read.equals(variable);
        if (operator == Operator.ADD && first && right instanceof Constant constant) {
          return (int) constant.bits();
        }
        if (operator == Operator.ADD && second && left instanceof Constant constant) {
          return (int) constant.bits();
        }
        if (operator == Operator.SUBTRACT
            && first
            && right instanceof Constant constant
            && (int) constant.bits() != Integer.MIN_VALUE) {
          return (int) -constant.bits();
        }
      }
    }
    return null;
  }

  private static Comparison opposite(Comparison comparison) {
    return switch (comparison) {
      case EQUAL -> Comparison.NOT_EQUAL;
      case NOT_EQUAL -> Comparison.EQUAL;
      case LESS -> Comparison.GREATER_EQUAL;
      case LESS_EQUAL -> Comparison.GREATER;
      case GREATER -> Comparison.LESS_EQUAL;
      case GREATER_EQUAL -> Comparison.LESS;
    };
  }

  private static Comparison swapped(Comparison comparison) {
    return switch (comparison) {
      case LESS -> Comparison.GREATER;
      case LESS_EQUAL -> Comparison.GREATER_EQUAL;
      case GREATER -> Comparison.LESS;
      case GREATER_EQUAL -> Comparison.LESS_EQUAL;
      default -> comparison;
    };
  }
}
