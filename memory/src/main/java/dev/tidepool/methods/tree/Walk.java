package dev.tidepool.methods.tree;

import dev.tidepool.methods.tree.Statement.Label;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Visits the parts of trees. */
public final class Walk {
  private Walk() {}

  /** Visits statements and those inside them, each before its parts. */
  public static void statements(List<Statement> list, Consumer<Statement> visitor) {
    for (Statement statement : list) {
      visitor.accept(statement);
      for (List<Statement> part : parts(statement)) {
        statements(part, visitor);
      }
    }
  }

  /** Returns whether a statement, or one inside it, passes a test. */
  public static boolean any(Statement statement, Predicate<Statement> test) {
    if (test.test(statement)) {
      return true;
    }
    for (List<Statement> part : parts(statement)) {
      if (any(part, test)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether one of the statements, or one inside them, passes a test. */
  public static boolean any(List<Statement> list, Predicate<Statement> test) {
    return list.stream().anyMatch(statement -> any(statement, test));
  }

  /** Returns the lists of statements inside a statement. */
  public static List<List<Statement>> parts(Statement statement) {
    return switch (statement) {
      case Statement.If branch -> List.of(branch.then(), branch.otherwise());
      case Statement.Loop loop -> List.of(loop.body());
      case Statement.Block block -> List.of(block.body());
      default -> List.of();
    };
  }

  /** Returns the labels of the loops and blocks among statements, and inside of them. */
  public static Set<Label> labels(List<Statement> list) {
    Set<Label> labels = new HashSet<>();
    statements(
        list,
        part -> {
          if (part instanceof Statement.Loop loop) {
            labels.add(loop.label());
          } else if (part instanceof Statement.Block block) {
            labels.add(block.label());
          }
        });
    return labels;
  }

  /** Returns whether statements are nested deeper than a number of levels. */
  public static boolean isNestedDeeper(List<Statement> list, int levels) {
    for (Statement statement : list) {
      for (List<Statement> part : parts(statement)) {
        if (!part.isEmpty() && (levels == 0 || isNestedDeeper(part, levels - 1))) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns the place at which a statement itself may fail; null if it cannot. */
  public static @Nullable Site site(Statement statement) {
    return switch (statement) {
      case Statement.Load load -> load.site();
      case Statement.Store store -> store.site();
      case Statement.Divide divide -> divide.site();
      case Statement.Atomic atomic -> atomic.site();
      default -> null;
    };
  }

  /**
   * Returns the expressions that a statement itself computes, without those of statements inside
   * it.
   */
  public static List<KernelExpression> expressions(Statement statement) {
    return switch (statement) {
      case Statement.Assign assign -> List.of(assign.value());
      case Statement.Load load -> List.of(load.index());
      case Statement.Store store -> List.of(store.index(), store.value());
      case Statement.Divide divide -> List.of(divide.dividend(), divide.divisor());
      case Statement.Atomic atomic -> {
        KernelExpression expected = atomic.expected();
        yield expected == null
            ? List.of(atomic.index(), atomic.value())
            : List.of(atomic.index(), expected, atomic.value());
      }
      case Statement.If branch -> List.of(branch.condition());
      default -> List.of();
    };
  }

  /** Visits an expression and those inside it. */
  public static void expressions(KernelExpression expression, Consumer<KernelExpression> visitor) {
    visitor.accept(expression);
    for (KernelExpression operand : operands(expression)) {
      expressions(operand, visitor);
    }
  }

  /** Returns whether an expression, or one inside it, passes a test. */
  public static boolean any(KernelExpression expression, Predicate<KernelExpression> test) {
    return test.test(expression)
        || operands(expression).stream().anyMatch(operand -> any(operand, test));
  }

  /** Returns whether operands are nested deeper than a number of levels. */
  public static boolean isDeeper(KernelExpression expression, int levels) {
    return operands(expression).stream()
        .anyMatch(operand -> levels == 0 || isDeeper(operand, levels - 1));
  }

  /** Returns whether an expression has more parts than a number, itself included. */
  public static boolean isLarger(KernelExpression expression, int parts) {
    int[] left = {parts};
    // Stops at the first part that is one too many.
    return any(expression, _ -> left[0]-- == 0);
  }

  /** Returns the operands of an expression. */
  public static List<KernelExpression> operands(KernelExpression expression) {
    return switch (expression) {
      case KernelExpression.Negate negate -> List.of(negate.operand());
      case KernelExpression.Convert convert -> List.of(convert.operand());
      case KernelExpression.Binary binary -> List.of(binary.left(), binary.right());
      case KernelExpression.Compare compare -> List.of(compare.left(), compare.right());
      case KernelExpression.Order order -> List.of(order.left(), order.right());
      case KernelExpression.Call call -> call.arguments();
      default -> List.of();
    };
  }

  /** Returns whether a statement itself, without those inside it, reads a variable. */
  public static boolean reads(Statement statement, Variable variable) {
    return expressions(statement).stream().anyMatch(expression -> reads(expression, variable));
  }

  /** Returns whether an expression reads a variable. */
  public static boolean reads(KernelExpression expression, Variable variable) {
    return any(
        expression,
        part -> part instanceof KernelExpression.Read read && read.variable().equals(variable));
  }

  /** Returns whether an expression reads at least one of some variables. */
  public static boolean readsAny(KernelExpression expression, Set<Variable> variables) {
    return any(
        expression,
        part ->
            part instanceof KernelExpression.Read(Variable variable)
                && variables.contains(variable));
  }

  /** Visits the variables that an expression reads. */
  public static void readVariables(KernelExpression expression, Consumer<Variable> visitor) {
    expressions(
        expression,
        part -> {
          if (part instanceof KernelExpression.Read(Variable variable)) {
            visitor.accept(variable);
          }
        });
  }

  /** Returns the variable that a statement itself sets; null if it sets none. */
  public static @Nullable Variable target(Statement statement) {
    return switch (statement) {
      case Statement.Assign assign -> assign.target();
      case Statement.Load load -> load.target();
      case Statement.Divide divide -> divide.target();
      case Statement.Atomic atomic -> atomic.target();
      default -> null;
    };
  }

  /** Returns the array whose elements a statement itself loads or stores; null if there is none. */
  public static @Nullable KernelArray array(Statement statement) {
    return switch (statement) {
      case Statement.Load load -> load.array();
      case Statement.Store store -> store.array();
      case Statement.Atomic atomic -> atomic.array();
      case Statement.Clear clear -> clear.array();
      default -> null;
    };
  }
}
