package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Read;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Rewriter;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Assign;
import dev.tidepool.methods.tree.Statement.Barrier;
import dev.tidepool.methods.tree.Statement.Divide;
import dev.tidepool.methods.tree.Statement.Load;
import dev.tidepool.methods.tree.Statement.Store;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Finds arrays of which one item may read an element while another item writes it. This is a guess
 * from the indices. An array is reported if the kernel loads it and one of these holds: the index
 * of a store was computed from loaded values; several items store to one element; an item loads an
 * element to which the item does not store and which is in no row to which the item stores. Kernels
 * with barriers are assumed to be correct.
 */
public final class Races {
  /** Longer values do not replace their variables: each can contain the one before it twice. */
  private static final int LONGEST_VALUE = 50;

  private final Map<KernelArray.Argument, Set<KernelExpression>> loads = new HashMap<>();
  private final Map<KernelArray.Argument, Set<KernelExpression>> stores = new HashMap<>();
  private final Set<Variable> loaded = new HashSet<>();
  private final Set<Variable> set = new HashSet<>();
  private final Set<Variable> setAgain = new HashSet<>();
  private final List<Assign> assigned = new ArrayList<>();
  // The values of variables that are set once, and those that never change.
  private final Map<Variable, KernelExpression> once = new HashMap<>();
  private final Map<Variable, KernelExpression> values = new HashMap<>();
  private boolean hasBarriers;

  private Races() {}

  /** Returns the names of the arrays. */
  public static Set<String> in(KernelTree tree) {
    Races races = new Races();
    Walk.statements(tree.body(), races::record);
    return races.found(tree.body());
  }

  private void record(Statement statement) {
    Variable target = Walk.target(statement);
    if (target != null && !set.add(target)) {
      setAgain.add(target);
    }
    switch (statement) {
      case Load load -> {
        loaded.add(load.target());
        if (load.array() instanceof KernelArray.Argument array) {
          loads.computeIfAbsent(array, _ -> new HashSet<>()).add(load.index());
        }
      }
      case Store(KernelArray.Argument array, KernelExpression index, _, _) ->
          stores.computeIfAbsent(array, _ -> new HashSet<>()).add(index);
      case Divide divide -> {
        if (Walk.readsAny(divide.dividend(), loaded) || Walk.readsAny(divide.divisor(), loaded)) {
          loaded.add(divide.target());
        }
      }
      case Assign assign -> assigned.add(assign);
      case Barrier _ -> hasBarriers = true;
      default -> {
        // Atomic operations do not race.
      }
    }
  }

  private Set<String> found(List<Statement> body) {
    Set<String> names = new TreeSet<>();
    if (hasBarriers) {
      return names;
    }
    assigned.forEach(this::resolve);
    Set<KernelArray.Argument> shared = SharedElements.of(body, this::resolved, loaded);
    stores.forEach(
        (array, indices) -> {
          Set<KernelExpression> stored = resolved(indices);
          Set<KernelExpression> read = resolved(loads.getOrDefault(array, Set.of()));
          boolean isAnywhere = stored.stream().anyMatch(index -> Walk.readsAny(index, loaded));
          if (!read.isEmpty() && (isAnywhere || shared.contains(array) || !areOwn(read, stored))) {
            names.add(array.name());
          }
        });
    return names;
  }

  /** Returns whether each index that is read is stored to, or is in the row of one that is. */
  private boolean areOwn(Set<KernelExpression> read, Set<KernelExpression> stored) {
    return read.stream()
        .allMatch(
            index ->
                stored.contains(index)
                    || stored.stream()
                        .anyMatch(
                            other -> RowIndex.areOfOneRow(with(once, index), with(once, other))));
  }

  /**
   * Records the value of a variable. {@code x[3 * i] += 1} keeps its index in a variable that never
   * changes. {@code rows[at + c] += 1} keeps its index in a variable that is set once in each round
   * of a loop.
   */
  private void resolve(Assign assign) {
    if (setAgain.contains(assign.target())) {
      return;
    }
    KernelExpression value = with(once, assign.value());
    if (Walk.isLarger(value, LONGEST_VALUE)) {
      return;
    }
    once.put(assign.target(), value);
    if (!Walk.readsAny(value, setAgain)) {
      values.put(assign.target(), value);
    }
  }

  private Set<KernelExpression> resolved(Set<KernelExpression> indices) {
    return indices.stream().map(this::resolved).collect(Collectors.toSet());
  }

  private KernelExpression resolved(KernelExpression expression) {
    return with(values, expression);
  }

  /** Returns an expression with variables replaced by their values. */
  private static KernelExpression with(
      Map<Variable, KernelExpression> values, KernelExpression expression) {
    return Rewriter.rewrite(
        expression,
        part ->
            part instanceof Read(Variable variable) ? values.getOrDefault(variable, part) : part);
  }
}
