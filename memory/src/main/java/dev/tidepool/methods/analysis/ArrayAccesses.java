package dev.tidepool.methods.analysis;

import dev.tidepool.KernelParameter.Access;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Atomic;
import dev.tidepool.methods.tree.Statement.Block;
import dev.tidepool.methods.tree.Statement.Break;
import dev.tidepool.methods.tree.Statement.Continue;
import dev.tidepool.methods.tree.Statement.If;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.Statement.Load;
import dev.tidepool.methods.tree.Statement.Loop;
import dev.tidepool.methods.tree.Statement.Return;
import dev.tidepool.methods.tree.Statement.Store;
import dev.tidepool.methods.tree.Walk;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Determines how a kernel accesses its array arguments.
 *
 * <p>An array that is never stored to is IN. An array is OUT if it is never loaded, every item
 * stores to its own index in dimension 0 on every path through the body, and the range has one
 * dimension and the array's length. All others are INOUT. Paths that only items outside of the
 * array take do not count.
 */
public final class ArrayAccesses {
  private final Set<Integer> loaded = new HashSet<>();
  private final Set<Integer> stored = new HashSet<>();
  // For each label, the arrays stored to before all jumps to it; absent until the first jump is
  // seen.
  private final Map<Label, Set<Integer>> behind = new HashMap<>();
  private @Nullable Set<Integer> atEnd;
  private final boolean haveOneLength;

  private ArrayAccesses(boolean haveOneLength) {
    this.haveOneLength = haveOneLength;
  }

  /** Returns the accesses of a kernel. */
  public static ArrayAccesses of(KernelTree tree) {
    return of(tree, false);
  }

  /** Returns the accesses of a kernel whose arrays all have the length of the range. */
  static ArrayAccesses ofOneLength(KernelTree tree) {
    return of(tree, true);
  }

  private static ArrayAccesses of(KernelTree tree, boolean haveOneLength) {
    ArrayAccesses accesses = new ArrayAccesses(haveOneLength);
    Walk.statements(tree.body(), accesses::record);
    accesses.leave(accesses.follow(tree.body(), Set.of()));
    return accesses;
  }

  private void record(Statement statement) {
    switch (statement) {
      case Load(_, KernelArray.Argument array, _, _) -> loaded.add(array.index());
      case Store(KernelArray.Argument array, _, _, _) -> stored.add(array.index());
      case Atomic atomic when atomic.array() instanceof KernelArray.Argument array -> {
        loaded.add(array.index());
        stored.add(array.index());
      }
      default -> {
        // Uses no argument.
      }
    }
  }

  /** Returns the arrays stored to after the statements; null if their end is never reached. */
  private @Nullable Set<Integer> follow(List<Statement> statements, Set<Integer> before) {
    Set<Integer> now = before;
    for (Statement statement : statements) {
      Set<Integer> next = follow(statement, now);
      if (next == null) {
        return null;
      }
      now = next;
    }
    return now;
  }

  private @Nullable Set<Integer> follow(Statement statement, Set<Integer> before) {
    switch (statement) {
      case Store(KernelArray.Argument array, KernelExpression index, _, _)
          when OwnElements.isOwn(index) -> {
        return with(before, array.index());
      }
      case If(KernelExpression condition, List<Statement> then, List<Statement> otherwise) -> {
        LengthGuard guard = LengthGuard.of(condition);
        if (guard == null) {
          return both(follow(then, before), follow(otherwise, before));
        }
        Set<Integer> outside = outside(before, guard);
        return both(
            follow(then, guard.value() ? before : outside),
            follow(otherwise, guard.value() ? outside : before));
      }
      case Block(Label label, List<Statement> body) -> {
        Set<Integer> end = follow(body, before);
        return both(end, behind.remove(label));
      }
      case Loop(Label label, List<Statement> body) -> {
        // Later rounds have stored at least what the first round stores.
        var _ = follow(body, before);
        return behind.remove(label);
      }
      case Break(Label label) -> {
        behind.merge(label, before, ArrayAccesses::common);
        return null;
      }
      case Continue _ -> {
        return null;
      }
      case Return _ -> {
        leave(before);
        return null;
      }
      default -> {
        return before;
      }
    }
  }

  /**
   * Returns the arrays that count as stored to on a path that only items outside of an array take.
   * No item takes the path if the range has the array's length.
   */
  private Set<Integer> outside(Set<Integer> before, LengthGuard guard) {
    if (!haveOneLength) {
      return with(before, guard.array().index());
    }
    Set<Integer> all = new HashSet<>(stored);
    all.addAll(before);
    return all;
  }

  private static Set<Integer> with(Set<Integer> arrays, int more) {
    Set<Integer> all = new HashSet<>(arrays);
    all.add(more);
    return all;
  }

  private void leave(@Nullable Set<Integer> now) {
    if (now != null) {
      atEnd = both(now, atEnd);
    }
  }

  private static @Nullable Set<Integer> both(
      @Nullable Set<Integer> first, @Nullable Set<Integer> second) {
    if (first == null || second == null) {
      return first != null ? first : second;
    }
    return common(first, second);
  }

  private static Set<Integer> common(Set<Integer> first, Set<Integer> second) {
    Set<Integer> common = new HashSet<>(first);
    common.retainAll(second);
    return common;
  }

  /** Returns the access to an array parameter that holds for every range. */
  public Access access(int parameter) {
    if (!stored.contains(parameter)) {
      return Access.IN;
    }
    return Access.INOUT;
  }

  /**
   * Returns whether the kernel writes every element and reads none if there is one item for each
   * element.
   */
  public boolean isOut(int parameter) {
    return stored.contains(parameter)
        && !loaded.contains(parameter)
        && atEnd != null
        && atEnd.contains(parameter);
  }
}
