package dev.tidepool.opencl;

import dev.tidepool.UnsupportedKernelException;
import dev.tidepool.methods.analysis.BarrierControl;
import dev.tidepool.methods.analysis.Uniformity;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Finds kernels that PoCL 3.1 compiles to wrong code, or that end the process. Their barriers are
 * in conditions and loops at once, or in several conditions; or their loops around barriers, or the
 * rounds of these loops, are left in several ways. The C code of such kernels is right, and other
 * drivers run it. The rules were found with random kernels. The reason is not known, so the rules
 * refuse some kernels that PoCL would compile right, and may miss others.
 *
 * <p>If a statement that decides about barriers may fail, or if all items return together, a loop
 * has one more way out, unless each round evaluates a condition of the loop that can also have this
 * way.
 */
final class PoclBarriers {
  private final Set<Label> left = new HashSet<>();
  private final Set<Label> jumped = new HashSet<>();
  private final List<Set<Label>> around = new ArrayList<>();
  private boolean mixed;
  private boolean nested;

  private PoclBarriers() {}

  /**
   * Refuses such a kernel.
   *
   * @throws UnsupportedKernelException if the kernel is refused; the message says what to change
   */
  static void check(KernelTree tree, boolean checked) {
    if (!Walk.any(tree.body(), Statement.Barrier.class::isInstance)) {
      return;
    }
    var _ = Uniformity.checked(tree);
    PoclBarriers barriers = new PoclBarriers();
    barriers.visit(tree.body(), false, 0, Set.of());
    barriers.findJumps(tree.body());
    String problem = barriers.problem();
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
      throw new UnsupportedKernelException(
          "kernel %s.%s cannot run on PoCL, which computes such kernels wrong: %s. Move the barrier out of the condition, leave loops by their own conditions only, or use cpu:0"
              .formatted(tree.className(), tree.methodName(), problem));
    }
  }

  /**
   * Returns whether PoCL compiles a kernel right with optimizations. It does not in two cases.
   * First, a loop around barriers may have a constant number of rounds, and it is nested with
   * another such loop, or there are conditions of several parts or blocks that jumps leave: LLVM
   * then unrolls the loop and moves code across barriers. Second, a condition has two branches and
   * only one has barriers: if items return at the end of that branch, the first item of a group
   * decides for all.
   */
  static boolean mayBeOptimized(KernelTree tree) {
    boolean jumps = Walk.any(tree.body(), PoclBarriers::isLeftByJump);
    return !Walk.any(
        tree.body(),
        part ->
            hasBarriersInOnePart(part)
                || (jumps && mayBeUnrolled(part))
                || (part instanceof Statement.Loop
                    && hasLoopAroundBarriers(part)
                    && Walk.any(part, PoclBarriers::mayBeUnrolled)));
  }

  private static boolean hasBarriersInOnePart(Statement statement) {
    return statement instanceof Statement.If(_, List<Statement> then, List<Statement> otherwise)
        && !then.isEmpty()
        && !otherwise.isEmpty()
        && Walk.any(then, Statement.Barrier.class::isInstance)
            != Walk.any(otherwise, Statement.Barrier.class::isInstance);
  }

  /**
   * Returns whether PoCL compiles a kernel right for groups of two items. PoCL then copies the code
   * for each item instead of writing a loop over the items. If such code has barriers and is
   * optimized, it may end the process.
   */
  static boolean mayRunInPairs(KernelTree tree) {
    return !Walk.any(tree.body(), Statement.Barrier.class::isInstance) || !mayBeOptimized(tree);
  }

  private static boolean isLeftByJump(Statement statement) {
    return statement instanceof Statement.Block(Label label, List<Statement> body)
        && Walk.any(body, new Statement.Break(label)::equals);
  }

  private static boolean hasLoopAroundBarriers(Statement statement) {
    return Walk.parts(statement).stream()
        .anyMatch(
            body ->
                Walk.any(
                    body,
                    part ->
                        part instanceof Statement.Loop
                            && Walk.any(part, Statement.Barrier.class::isInstance)));
  }

  /** Returns whether a loop around barriers ends by a condition with a constant. */
  private static boolean mayBeUnrolled(Statement statement) {
    return statement instanceof Statement.Loop(Label own, List<Statement> body)
        && Walk.any(body, Statement.Barrier.class::isInstance)
        && Walk.any(
            body,
            part ->
                part instanceof Statement.If exit
                    && (exit.then().contains(new Statement.Break(own))
                        || exit.otherwise().contains(new Statement.Break(own)))
                    && Walk.any(exit.condition(), KernelExpression.Constant.class::isInstance));
  }

  private String problem() {
    if (mixed) {
      return "a barrier stands in a condition and in a loop";
    }
    if (nested) {
      return "a barrier stands in several conditions";
    }
    if (isLeftByJumps()) {
      return "rounds of a loop around a barrier end in several ways";
    }
    return left.size() > 1 ? "loops around barriers are left in several ways" : "";
  }

  private static boolean needsAnotherWayOut(Statement statement, BarrierControl control) {
    return statement instanceof Statement.Loop loop
        && Walk.any(loop, Statement.Barrier.class::isInstance)
        && control.exit(loop) == null
        && BarrierControl.mayJumpOut(loop);
  }

  /**
   * Records the conditions, loops and blocks around each barrier. A block that a jump in front of
   * the barrier leaves counts as a condition, too.
   *
   * @param conditions the number of conditions around the statements
   * @param blocks the labels of the blocks around the statements; in a loop, of those within the
   *     innermost loop
   */
  private void visit(List<Statement> list, boolean inLoop, int conditions, Set<Label> blocks) {
    for (Statement statement : list) {
      switch (statement) {
        case Statement.Barrier _ -> {
          mixed |= inLoop && conditions > 0;
          nested |= conditions > 1 || (!inLoop && blocks.stream().anyMatch(jumped::contains));
          if (inLoop) {
            around.add(blocks);
          }
        }
        case Statement.Break(Label label) -> jumped.add(label);
        case Statement.If(_, List<Statement> then, List<Statement> otherwise) -> {
          visit(then, inLoop, conditions + 1, blocks);
          visit(otherwise, inLoop, conditions + 1, blocks);
        }
        case Statement.Loop(_, List<Statement> body) -> visit(body, true, conditions, Set.of());
        case Statement.Block(Label label, List<Statement> body) -> {
          Set<Label> inside = new HashSet<>(blocks);
          inside.add(label);
          visit(body, inLoop, conditions, inside);
        }
        default -> {}
      }
    }
  }

  /** Returns whether jumps leave several blocks around one barrier in one loop. */
  private boolean isLeftByJumps() {
    return around.stream().anyMatch(blocks -> blocks.stream().filter(jumped::contains).count() > 1);
  }

  /** Finds the labels, other than a loop's own, to which jumps leave loops around barriers. */
  private void findJumps(List<Statement> body) {
    Walk.statements(
        body,
        statement -> {
          if (statement instanceof Statement.Loop(Label own, List<Statement> repeated)
              && Walk.any(repeated, Statement.Barrier.class::isInstance)) {
            Set<Label> inside = Walk.labels(repeated);
            inside.add(own);
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
