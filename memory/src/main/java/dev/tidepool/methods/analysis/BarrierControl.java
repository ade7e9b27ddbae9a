package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Barrier;
import dev.tidepool.methods.tree.Statement.Block;
import dev.tidepool.methods.tree.Statement.Break;
import dev.tidepool.methods.tree.Statement.Continue;
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

/**
 * Which statements of a kernel decide how its items come to barriers. An item that has returned, or
 * failed, does these and no others: so it meets the barriers that the other items of its group
 * meet. {@link Uniformity#checked} ensures that they are the same for all items of a group.
 *
 * <p>A return that all items of a group reach together is one of these, because no item does what
 * stands behind it: a division, load or loop there may fail or not end.
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
   * The indices of the array arguments from which a kernel loads what decides; none for a kernel
   * without barriers. The kernel does not write to these parameters, as {@link Uniformity#checked}
   * sees to it, but it does write to them if a launch passes the memory of another one.
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

  /** Only parts of what decides can decide: a jump within a block that does not leads nowhere. */
  private void record(List<Statement> statements) {
    for (Statement statement : statements) {
      if (!decides(statement)) {
        continue;
      }
      Walk.expressions(statement).forEach(this::addReads);
      Walk.parts(statement).forEach(this::record);
    }
  }

  private void addReads(KernelExpression expression) {
    Walk.expressions(
        expression,
        part -> {
          if (part instanceof KernelExpression.Read(Variable variable)) {
            deciding.add(variable);
          }
        });
  }

  /**
   * Whether a statement holds a barrier, sets a variable that decides, jumps to a place outside of
   * it, or ends all items of a group together.
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
            case Break(Label label) -> !inside.contains(label);
            case Continue(Label label) -> !inside.contains(label);
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

  private boolean within(Label label, List<Statement> body, Set<Label> inside) {
    Set<Label> more = new HashSet<>(inside);
    more.add(label);
    return decides(body, more);
  }
}
