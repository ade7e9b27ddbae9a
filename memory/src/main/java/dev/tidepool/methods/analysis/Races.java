package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.Expression;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Rewriter;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Barrier;
import dev.tidepool.methods.tree.Statement.Load;
import dev.tidepool.methods.tree.Statement.Store;
import dev.tidepool.methods.tree.Variable;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Arrays of which one item may read what another one writes at the same time. This is a guess from
 * the indices: an array is one if it is loaded at an index at which the item does not store, or
 * stored to at an index that was itself loaded. Kernels with barriers are taken to know what they
 * do.
 */
public final class Races {
  private final Map<KernelArray.Argument, Set<Expression>> loads = new HashMap<>();
  private final Map<KernelArray.Argument, Set<Expression>> stores = new HashMap<>();
  private final Set<Variable> loaded = new HashSet<>();
  private boolean hasBarriers;

  private Races() {}

  /** The names of the arrays. */
  public static Set<String> in(KernelTree tree) {
    Races races = new Races();
    Rewriter.visit(tree.body(), races::record);
    return races.found();
  }

  private void record(Statement statement) {
    switch (statement) {
      case Load load -> {
        loaded.add(load.target());
        if (load.array() instanceof KernelArray.Argument array) {
          loads.computeIfAbsent(array, _ -> new HashSet<>()).add(load.index());
        }
      }
      case Store(KernelArray.Argument array, Expression index, _, _) ->
          stores.computeIfAbsent(array, _ -> new HashSet<>()).add(index);
      case Barrier _ -> hasBarriers = true;
      default -> {
        // Atomic operations do not race.
      }
    }
  }

  private Set<String> found() {
    Set<String> names = new TreeSet<>();
    if (hasBarriers) {
      return names;
    }
    stores.forEach(
        (array, stored) -> {
          Set<Expression> read = loads.getOrDefault(array, Set.of());
          boolean isAnywhere =
              stored.stream()
                  .anyMatch(
                      index ->
                          loaded.stream().anyMatch(variable -> Rewriter.reads(index, variable)));
          if (!read.isEmpty() && (isAnywhere || !stored.containsAll(read))) {
            names.add(array.name());
          }
        });
    return names;
  }
}
