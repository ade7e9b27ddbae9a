package dev.tidepool.methods.analysis;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * Determines which values are the same for all items of a group, and which statements all of them
 * reach together. A {@code return} does not count as divergent: an item that has returned still
 * meets every barrier.
 *
 * <p>A variable differs if a value assigned to it differs, or if it is set by a statement that only
 * some items reach. A loaded element differs if its index differs, or if the kernel writes the
 * array. Parameters with different names count as different arrays here. Launches check the arrays
 * on which barriers depend.
 */
public final class Uniformity {
  private final Set<KernelArray> written = new HashSet<>();
  private final Set<Variable> differing = new HashSet<>();

  /** Statements that not all items of a group reach together. */
  private final Set<Statement> divergent = Collections.newSetFromMap(new IdentityHashMap<>());

  private boolean changed;

  private Uniformity(List<Statement> body) {
    Walk.statements(
        body,
        statement -> {
          KernelArray array = Walk.array(statement);
          boolean stores =
              statement instanceof Statement.Store || statement instanceof Statement.Atomic;
          if (array != null && stores) {
            written.add(array);
          }
        });
    do {
      changed = false;
      divergent.clear();
      new Pass().walk(body, false);
    } while (changed);
  }

  /** Finds what differs between the items of a group. */
  public static Uniformity of(List<Statement> body) {
    return new Uniformity(body);
  }

  /**
   * Checks that all items of a group reach each barrier together.
   *
   * @throws KernelCompilationException if that is not known; the message names the first such
   *     barrier
   */
  public static Uniformity checked(KernelTree tree) {
    Uniformity uniformity = of(tree.body());
    Walk.statements(
        tree.body(),
        statement -> {
          if (statement instanceof Statement.Barrier(StackTraceElement frame)
              && !uniformity.isUniform(statement)) {
            throw refusal(tree, frame);
          }
        });
    return uniformity;
  }

  private static KernelCompilationException refusal(KernelTree tree, StackTraceElement frame) {
    return new KernelCompilationException(
        "kernel %s.%s: the barrier at %s is not reached by all items of a group together: a condition, a loop's count or a jump before it depends on the item's ids, or on memory that the kernel writes; move the barrier out of it, or let every item take the same way and put conditions around the other statements"
            .formatted(tree.className(), tree.methodName(), frame),
        "");
  }

  /** Returns whether all items of a group that have not returned reach a statement together. */
  public boolean isUniform(Statement statement) {
    return !divergent.contains(statement);
  }

  /**
   * Returns whether a variable has the same value for all items of a group that reach a statement.
   */
  public boolean isUniform(Variable variable) {
    return !differing.contains(variable);
  }

  /** Returns whether a value is the same for all items of a group. */
  public boolean isUniform(KernelExpression value) {
    return !Walk.any(
        value,
        part ->
            switch (part) {
              case KernelExpression.Read(Variable variable) -> differing.contains(variable);
              case KernelExpression.ItemNumber number -> !number.kind().isUniform();
              default -> false;
            });
  }

  private boolean isUniformElement(Statement.Load load) {
    return load.array() instanceof KernelArray.Argument
        && !written.contains(load.array())
        && isUniform(load.index());
  }

  /** One walk over the tree, in the order of execution. */
  private final class Pass {
    /** Jumps that some items may have taken while others continue. */
    private final Set<Jump> pending = new HashSet<>();

    void walk(List<Statement> list, boolean isDivergent) {
      for (Statement statement : list) {
        visit(statement, isDivergent || !pending.isEmpty());
      }
    }

    private void visit(Statement statement, boolean isDivergent) {
      if (isDivergent) {
        divergent.add(statement);
      }
      Variable target = Walk.target(statement);
      if (target != null && (isDivergent || !isUniformValue(statement))) {
        changed |= differing.add(target);
      }
      switch (statement) {
        case Statement.If branch -> {
          boolean parts = isDivergent || !isUniform(branch.condition());
          // Items that take one branch do not reach the jumps of the other.
          Set<Jump> before = Set.copyOf(pending);
          walk(branch.then(), parts);
          Set<Jump> then = Set.copyOf(pending);
          pending.clear();
          pending.addAll(before);
          walk(branch.otherwise(), parts);
          pending.addAll(then);
        }
        case Statement.Block block -> {
          walk(block.body(), isDivergent);
          pending.remove(new Jump(block.label(), false));
        }
        case Statement.Loop loop -> loop(loop, isDivergent);
        case Statement.Break(Statement.Label label) -> jump(new Jump(label, false), isDivergent);
        case Statement.Continue(Statement.Label label) -> jump(new Jump(label, true), isDivergent);
        default -> {}
      }
    }

    private void loop(Statement.Loop loop, boolean isDivergent) {
      walk(loop.body(), isDivergent);
      pending.remove(new Jump(loop.label(), true));
      if (!isDivergent && !pending.isEmpty()) {
        // Some items have left, so only the others execute the next round.
        walk(loop.body(), true);
        pending.remove(new Jump(loop.label(), true));
      }
      pending.remove(new Jump(loop.label(), false));
    }

    private void jump(Jump jump, boolean isDivergent) {
      if (isDivergent) {
        pending.add(jump);
      }
    }

    private boolean isUniformValue(Statement statement) {
      return switch (statement) {
        case Statement.Assign assign -> isUniform(assign.value());
        case Statement.Divide divide -> isUniform(divide.dividend()) && isUniform(divide.divisor());
        case Statement.Load load -> isUniformElement(load);
        default -> false;
      };
    }
  }

  private record Jump(Statement.Label label, boolean isContinue) {}
}
