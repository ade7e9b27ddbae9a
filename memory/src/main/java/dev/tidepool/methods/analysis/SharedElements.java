package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Binary;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.KernelExpression.Read;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Divide;
import dev.tidepool.methods.tree.Statement.If;
import dev.tidepool.methods.tree.Statement.Return;
import dev.tidepool.methods.tree.Statement.Store;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * Finds arrays of which several items store to one element. The index of such a store contains no
 * number of the item, as in {@code sum[0] += x[i]}, or only a part of one, as in {@code sums[i /
 * columns] += x[i]} and {@code sums[i & 7] += x[i]}, or only one of two numbers. Stores do not
 * count if a comparison with a number of the item leaves them to one item.
 */
final class SharedElements {
  private final UnaryOperator<KernelExpression> resolve;
  private final Set<Variable> loaded;
  private final Set<Variable> ofItem = new HashSet<>();
  // Quotients of the items' numbers, and remainders by constants: several items have the same one.
  private final Set<Variable> reduced = new HashSet<>();
  private final Set<Integer> dimensions = new HashSet<>();
  private final Set<KernelArray.Argument> arrays = new HashSet<>();
  private boolean usesItem;

  private SharedElements(UnaryOperator<KernelExpression> resolve, Set<Variable> loaded) {
    this.resolve = resolve;
    this.loaded = loaded;
  }

  /**
   * Returns the arrays.
   *
   * @param resolve replaces variables in an expression by their values, where these are known
   * @param loaded variables whose values come from arrays
   */
  static Set<KernelArray.Argument> of(
      List<Statement> body, UnaryOperator<KernelExpression> resolve, Set<Variable> loaded) {
    SharedElements elements = new SharedElements(resolve, loaded);
    int known;
    do {
      known = elements.ofItem.size();
      Walk.statements(body, elements::record);
    } while (elements.ofItem.size() > known);
    // A kernel that uses no number of its item is meant for ranges of one item.
    if (elements.usesItem) {
      elements.follow(body, false);
    }
    return elements.arrays;
  }

  private void record(Statement statement) {
    boolean depends = Walk.expressions(statement).stream().anyMatch(this::dependsOnItem);
    usesItem |= depends;
    Variable target = Walk.target(statement);
    boolean isNew = depends && target != null && ofItem.add(target);
    if (isNew
        && statement instanceof Divide divide
        && (!divide.isRemainder() || divide.divisor() instanceof Constant)) {
      reduced.add(divide.target());
    }
    for (KernelExpression expression : Walk.expressions(statement)) {
      dimensions.addAll(dimensions(expression));
    }
  }

  /** Returns the dimensions of the item's global ids in an expression. */
  private static Set<Integer> dimensions(KernelExpression expression) {
    Set<Integer> found = new HashSet<>();
    var _ =
        Walk.any(
            expression,
            part -> {
              if (part instanceof ItemNumber(ItemNumber.Kind kind, int dimension)
                  && kind == ItemNumber.Kind.GLOBAL_ID) {
                found.add(dimension);
              }
              return false;
            });
    return found;
  }

  private boolean dependsOnItem(KernelExpression expression) {
    return Walk.any(
        expression,
        part ->
            part instanceof ItemNumber
                || (part instanceof Read(Variable variable) && ofItem.contains(variable)));
  }

  /**
   * Finds the stores of statements.
   *
   * @param alone whether only one item executes the statements
   */
  private void follow(List<Statement> list, boolean alone) {
    boolean isAlone = alone;
    for (Statement statement : list) {
      switch (statement) {
        case Store(KernelArray.Argument array, KernelExpression index, _, _) -> {
          if (!isAlone && isShared(resolve.apply(index))) {
            arrays.add(array);
          }
        }
        case If branch -> {
          KernelExpression condition = resolve.apply(branch.condition());
          boolean isThenAlone = isAlone || picksItem(condition, true);
          boolean isOtherwiseAlone = isAlone || picksItem(condition, false);
          follow(branch.then(), isThenAlone);
          follow(branch.otherwise(), isOtherwiseAlone);
          isAlone =
              (isOtherwiseAlone && returns(branch.then()))
                  || (isThenAlone && returns(branch.otherwise()))
                  || isAlone;
        }
        default -> {
          for (List<Statement> part : Walk.parts(statement)) {
            follow(part, isAlone);
          }
        }
      }
    }
  }

  private static boolean returns(List<Statement> branch) {
    return branch.stream().anyMatch(statement -> Walk.any(statement, Return.class::isInstance));
  }

  /** Returns whether a condition has a value for only one item, or for one item of each row. */
  private boolean picksItem(KernelExpression condition, boolean value) {
    if (!(condition instanceof Compare compare)
        || !dependsOnItem(condition)
        || Walk.readsAny(condition, loaded)) {
      return false;
    }
    boolean holds = value != compare.negated();
    return switch (compare.comparison()) {
      case EQUAL -> holds;
      case NOT_EQUAL -> !holds;
      // Such as i < 1.
      case LESS -> holds && isConstant(compare.right(), 1);
      case LESS_EQUAL -> holds && isConstant(compare.right(), 0);
      case GREATER -> !holds && isConstant(compare.right(), 0);
      case GREATER_EQUAL -> !holds && isConstant(compare.right(), 1);
    };
  }

  private static boolean isConstant(KernelExpression expression, long value) {
    return expression instanceof Constant(_, long bits) && bits == value;
  }

  private boolean isShared(KernelExpression index) {
    if (Walk.readsAny(index, loaded)) {
      return false;
    }
    Set<KernelExpression> parts = new HashSet<>();
    if (!addReduced(index, parts)) {
      // The items along the other dimension have the same index.
      return !readsItem(index) && dimensions(index).size() < dimensions.size();
    }
    // Two parts, such as quotient and remainder, may together identify the item.
    return parts.size() <= 1;
  }

  private boolean readsItem(KernelExpression index) {
    return Walk.any(
        index,
        part ->
            (part instanceof Read(Variable variable) && ofItem.contains(variable))
                || (part instanceof ItemNumber number
                    && number.kind() != ItemNumber.Kind.GLOBAL_ID));
  }

  /**
   * Adds the parts of an expression that several items have in common.
   *
   * @return false if the expression contains a whole number of the item
   */
  private boolean addReduced(KernelExpression expression, Set<KernelExpression> parts) {
    switch (expression) {
      case Binary(Operator operator, KernelExpression left, Constant _)
          when (operator == Operator.AND
                  || operator == Operator.SHIFT_RIGHT
                  || operator == Operator.SHIFT_RIGHT_UNSIGNED)
              && dependsOnItem(left) -> {
        parts.add(expression);
        return true;
      }
      case Read(Variable variable) when reduced.contains(variable) -> {
        parts.add(expression);
        return true;
      }
      case Read(Variable variable) when ofItem.contains(variable) -> {
        return false;
      }
      case ItemNumber _ -> {
        return false;
      }
      default -> {
        boolean isReduced = true;
        for (KernelExpression operand : Walk.operands(expression)) {
          isReduced &= addReduced(operand, parts);
        }
        return isReduced;
      }
    }
  }
}
