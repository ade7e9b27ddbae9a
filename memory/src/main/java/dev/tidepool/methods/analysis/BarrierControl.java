package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Barrier;
import dev.tidepool.methods.tree.Statement.Block;
import dev.tidepool.methods.tree.Statement.Break;
import dev.tidepool.methods.tree.Statement.Continue;
import dev.tidepool.methods.tree.Statement.Divide;
import dev.tidepool.methods.tree.Statement.If;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.Statement.Load;
import dev.tidepool.methods.tree.Statement.Loop;
import dev.tidepool.methods.tree.Statement.Return;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Determines which statements of a kernel decide how its items reach barriers. An item that has
 * returned or failed still executes these statements and no others, so it meets the barriers that
 * the other items of its group meet. {@link Uniformity#checked} ensures that all items of a group
 * meet the same barriers.
 *
 * <p>A return that all items of a group reach together is a deciding statement: no item executes
 * the statements after it, and a division, load or loop among them may fail or never end. The same
 * holds for other jumps. A jump that only some items take skips no deciding statement: a barrier
 * there would be refused, and so would a barrier that depends on a variable that is set there.
 *
 * <p>All deciding statements are therefore the same for all items of a group, and fail for all of
 * them or for none.
 */
public final class BarrierControl {
  private final Set<Variable> deciding = new HashSet<>();

  private final Uniformity uniformity;

  private BarrierControl(Uniformity uniformity) {
    this.uniformity = uniformity;
  }

  /** Looks at a kernel whose barriers have been checked. */
  public static BarrierControl of(KernelTree tree) {
    BarrierControl control = new BarrierControl(Uniformity.of(tree.body()));
    int before = -1;
    while (before != control.deciding.size()) {
      before = control.deciding.size();
      control.record(tree.body());
    }
    return control;
  }

  /**
   * Returns the indices of the array arguments from which a kernel loads deciding values; none for
   * a kernel without barriers. {@link Uniformity#checked} ensures that the kernel does not write to
   * these parameters. The kernel still writes to their memory if a launch passes the same memory
   * for another parameter.
   */
  public static Set<Integer> arrays(KernelTree tree) {
    Set<Integer> arrays = new TreeSet<>();
    if (Walk.any(tree.body(), Barrier.class::isInstance)) {
      BarrierControl control = of(tree);
      Walk.statements(
          tree.body(),
          statement -> {
            if (statement instanceof Load(Variable target, KernelArray.Argument array, _, _)
                && control.deciding.contains(target)) {
              arrays.add(array.index());
            }
          });
    }
    return arrays;
  }

  /**
   * Records the variables that deciding statements read. Other statements have no deciding parts
   * but jumps within themselves, which skip nothing that decides.
   */
  private void record(List<Statement> statements) {
    for (Statement statement : statements) {
      if (!decides(statement)) {
        continue;
      }
      Walk.expressions(statement)
          .forEach(expression -> Walk.readVariables(expression, deciding::add));
      Walk.parts(statement).forEach(this::record);
    }
  }

  /**
   * Returns whether a statement contains a barrier, sets a deciding variable, or contains a jump or
   * return that all items of a group take together and that leaves the statement.
   */
  public boolean decides(Statement statement) {
    return decides(List.of(statement), new HashSet<>());
  }

  private boolean decides(List<Statement> statements, Set<Label> inside) {
    for (Statement statement : statements) {
      boolean found =
          switch (statement) {
            case Barrier _ -> true;
            case Return returned -> uniformity.isUniform(returned);
            case Break jump -> !inside.contains(jump.label()) && uniformity.isUniform(jump);
            case Continue jump -> !inside.contains(jump.label()) && uniformity.isUniform(jump);
            case If(KernelExpression _, var then, var otherwise) ->
                decides(then, inside) || decides(otherwise, inside);
            case Block(Label label, var body) -> within(label, body, inside);
            case Loop(Label label, var body) -> within(label, body, inside);
            default -> deciding.contains(Walk.target(statement));
          };
      if (found) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether there is a return that all items of a group reach together. */
  public boolean mayReturn(KernelTree tree) {
    return Walk.any(tree.body(), part -> part instanceof Return && uniformity.isUniform(part));
  }

  /**
   * Returns whether a deciding statement may fail: a load, or a division whose divisor may be 0.
   */
  public boolean mayFail(KernelTree tree) {
    return mayFail(tree.body());
  }

  private boolean mayFail(List<Statement> statements) {
    return statements.stream()
        .filter(this::decides)
        .anyMatch(
            statement ->
                switch (statement) {
                  case Load load -> load.site() != null;
                  case Divide divide -> divide.mayFail();
                  default -> Walk.parts(statement).stream().anyMatch(this::mayFail);
                });
  }

  /**
   * Returns a condition that every round of a loop evaluates, and under which all items of a group
   * jump out of the loop together; null if there is none.
   */
  public @Nullable If exit(Loop loop) {
    Set<Label> inside = Walk.labels(loop.body());
    inside.add(loop.label());
    return exit(loop.body(), loop.label(), inside);
  }

  private @Nullable If exit(List<Statement> list, Label loop, Set<Label> inside) {
    for (Statement statement : list) {
      if (statement instanceof If branch && leaves(branch, loop, inside)) {
        return branch;
      }
      if (statement instanceof Block block) {
        If branch = exit(block.body(), loop, inside);
        if (branch != null) {
          return branch;
        }
      }
      // A jump out of this statement may skip the rest of the list.
      Set<Label> own = Walk.labels(List.of(statement));
      if (Walk.any(statement, part -> jumpsOut(part, own))) {
        return null;
      }
    }
    return null;
  }

  private boolean leaves(If branch, Label loop, Set<Label> inside) {
    if (branch.then().isEmpty() || !branch.otherwise().isEmpty()) {
      return false;
    }
    Statement last = branch.then().getLast();
    return uniformity.isUniform(last) && (last.equals(new Break(loop)) || jumpsOut(last, inside));
  }

  /** Returns whether a jump in a conditional statement leads out of it. */
  public static boolean isLeft(If branch) {
    Set<Label> inside = Walk.labels(List.of(branch));
    return Walk.any(branch, part -> jumpsOut(part, inside));
  }

  /** Returns whether some items of a group may jump out of statements while others do not. */
  public boolean isLeftBySome(List<Statement> statements) {
    Set<Label> inside = Walk.labels(statements);
    return Walk.any(statements, part -> jumpsOut(part, inside) && !uniformity.isUniform(part));
  }

  /** Returns whether a jump leaves a loop, other than to its next round. */
  public static boolean mayJumpOut(Loop loop) {
    Set<Label> inside = Walk.labels(loop.body());
    Continue repeat = new Continue(loop.label());
    return Walk.any(loop.body(), part -> jumpsOut(part, inside) && !part.equals(repeat));
  }

  private static boolean jumpsOut(Statement statement, Set<Label> inside) {
    return switch (statement) {
      case Break(Label label) -> !inside.contains(label);
      case Continue(Label label) -> !inside.contains(label);
      default -> false;
    };
  }

  private boolean within(Label label, List<Statement> body, Set<Label> inside) {
    Set<Label> more = new HashSet<>(inside);
    more.add(label);
    return decides(body, more);
  }
}
