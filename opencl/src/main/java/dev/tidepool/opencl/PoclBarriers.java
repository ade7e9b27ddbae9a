package dev.tidepool.opencl;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.methods.analysis.BarrierControl;
import dev.tidepool.methods.analysis.Uniformity;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.Walk;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Finds kernels that PoCL 3.1 compiles to wrong code, or to code that ends the process: those whose
 * barriers stand in conditions and loops at once, and those whose loops around barriers are left in
 * several ways. The C code of such kernels is right, and other drivers run it.
 *
 * <p>If something that decides about barriers may fail, or all items return together, a loop has
 * one more way out, unless each round comes by a condition of the loop that can have this one, too.
 */
final class PoclBarriers {
  private final Set<Label> left = new HashSet<>();
  private boolean mixed;

  private PoclBarriers() {}

  /**
   * Refuses such a kernel.
   *
   * @throws KernelCompilationException that says what to change
   */
  static void check(KernelTree tree, boolean checked) {
    if (!Walk.any(tree.body(), Statement.Barrier.class::isInstance)) {
      return;
    }
    var _ = Uniformity.checked(tree);
    PoclBarriers barriers = new PoclBarriers();
    barriers.visit(tree.body(), false, false);
    barriers.findJumps(tree.body());
    String problem =
        barriers.mixed
            ? "a barrier stands in a condition and in a loop"
            : barriers.left.size() > 1 ? "loops around barriers are left in several ways" : "";
    BarrierControl control = BarrierControl.of(tree);
    boolean stops = control.mayReturn(tree) || (checked && control.mayFail(tree));
    if (problem.isEmpty()
        && stops
        && Walk.any(tree.body(), part -> needsAnotherWayOut(part, control))) {
      problem =
          "loops around barriers are left in several ways, one of them a return, an index or a"
              + " division by zero";
    }
    if (!problem.isEmpty()) {
      throw new KernelCompilationException(
          "kernel %s.%s cannot run on PoCL, which computes such kernels wrong: %s. Move the barrier out of the condition, leave loops by their own conditions only, or use cpu:0"
              .formatted(tree.className(), tree.methodName(), problem),
          "");
    }
  }

  private static boolean needsAnotherWayOut(Statement statement, BarrierControl control) {
    return statement instanceof Statement.Loop loop
        && Walk.any(loop, Statement.Barrier.class::isInstance)
        && control.exit(loop) == null
        && BarrierControl.mayJumpOut(loop);
  }

  private void visit(List<Statement> list, boolean inLoop, boolean inCondition) {
    for (Statement statement : list) {
      mixed |= statement instanceof Statement.Barrier && inLoop && inCondition;
      boolean loop = inLoop || statement instanceof Statement.Loop;
      boolean condition = inCondition || statement instanceof Statement.If;
      Walk.parts(statement).forEach(part -> visit(part, loop, condition));
    }
  }

  /** Finds the labels that jumps inside of loops around barriers leave, besides the loop's own. */
  private void findJumps(List<Statement> body) {
    Walk.statements(
        body,
        statement -> {
          if (statement instanceof Statement.Loop(Label own, List<Statement> repeated)
              && Walk.any(repeated, Statement.Barrier.class::isInstance)) {
            Set<Label> inside = new HashSet<>();
            inside.add(own);
            Walk.statements(
                repeated,
                part -> {
                  if (part instanceof Statement.Loop inner) {
                    inside.add(inner.label());
                  } else if (part instanceof Statement.Block inner) {
                    inside.add(inner.label());
                  }
                });
            Walk.statements(
                repeated,
                part -> {
                  if (part instanceof Statement.Break(Label label) && !inside.contains(label)) {
                    left.add(label);
                  } else if (part instanceof Statement.Continue(Label label)
                      && !inside.contains(label)) {
                    left.add(label);
                  }
                });
          }
        });
  }
}
