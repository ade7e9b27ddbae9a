package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
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
 * Arrays of which several items store to one element: at an index that no number of the item is in,
 * as {@code sum[0] += x[i]} does, or only a quotient of one, as {@code sums[i / columns] += x[i]}
 * does. Stores that a comparison with a number of the item leaves to one item are none.
 */
final class SharedElements {
  private final UnaryOperator<KernelExpression> resolve;
  private final Set<Variable> loaded;
  private final Set<Variable> ofItem = new HashSet<>();
  private final Set<Variable> quotients = new HashSet<>();
  private final Set<KernelArray.Argument> arrays = new HashSet<>();
  private boolean usesItem;

  private SharedElements(UnaryOperator<KernelExpression> resolve, Set<Variable> loaded) {
    this.resolve = resolve;
    this.loaded = loaded;
  }

  /**
   * The arrays.
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
    // A kernel that uses no number of its item is for ranges of one.
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
    if (isNew && statement instanceof Divide divide && !divide.isRemainder()) {
      quotients.add(divide.target());
    }
  }

  private boolean dependsOnItem(KernelExpression expression) {
    return Walk.any(
        expression,
        part ->
            part instanceof ItemNumber
                || (part instanceof Read(Variable variable) && ofItem.contains(variable)));
  }

  /**
   * Looks for stores.
   *
   * @param alone whether one item does the statements
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
          boolean picks = isAlone || picksItem(resolve.apply(branch.condition()));
          follow(branch.then(), picks);
          follow(branch.otherwise(), picks);
          isAlone = isAlone || (picks && Walk.any(branch, Return.class::isInstance));
        }
        default -> {
          for (List<Statement> part : Walk.parts(statement)) {
            follow(part, isAlone);
          }
        }
      }
    }
  }

  private boolean picksItem(KernelExpression condition) {
    return condition instanceof Compare compare
        && (compare.comparison() == Comparison.EQUAL
            || compare.comparison() == Comparison.NOT_EQUAL)
        && dependsOnItem(condition)
        && !Walk.readsAny(condition, loaded);
  }

  private boolean isShared(KernelExpression index) {
    return !Walk.readsAny(index, loaded)
        && !Walk.any(
            index,
            part ->
                part instanceof ItemNumber
                    || (part instanceof Read(Variable variable)
                        && ofItem.contains(variable)
                        && !quotients.contains(variable)));
  }
}
