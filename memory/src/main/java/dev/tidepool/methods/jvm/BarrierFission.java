package dev.tidepool.methods.jvm;

import dev.tidepool.methods.analysis.Uniformity;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * Divides a kernel at its barriers, so that one thread can run the items of a group one after the
 * other between two barriers. Loops and conditions around barriers become those of the group.
 */
final class BarrierFission {
  private final Uniformity uniformity;

  /** Labels of blocks and loops that all items execute together. */
  private final Set<Label> groupLabels = new HashSet<>();

  /** Variables of which the group has one. */
  private final Set<Variable> groupVariables = new HashSet<>();

  private BarrierFission(Uniformity uniformity) {
    this.uniformity = uniformity;
  }

  /** Returns the steps of a kernel; a kernel without barriers is one step. */
  static List<Step> of(KernelTree tree) {
    if (!Walk.any(tree.body(), statement -> statement instanceof Statement.Barrier)) {
      return List.of(new Step.Items(tree.body()));
    }
    BarrierFission fission = new BarrierFission(Uniformity.checked(tree));
    fission.findGroupLabels(tree.body());
    Walk.statements(
        tree.body(),
        statement -> {
          Variable target = Walk.target(statement);
          if (target != null && fission.uniformity.isUniform(target)) {
            fission.groupVariables.add(target);
          }
        });
    while (true) {
      List<Step> steps = fission.steps(tree.body());
      Set<Variable> ofItems = new HashSet<>();
      forEachItems(
          steps,
          items ->
              Walk.statements(
                  items.body(),
                  statement -> {
                    Variable target = Walk.target(statement);
                    if (target != null) {
                      ofItems.add(target);
                    }
                  }));
      if (!fission.groupVariables.removeAll(ofItems)) {
        return steps;
      }
    }
  }

  /**
   * Finds the blocks and loops of the group. A jump by which all items leave one of them makes the
   * blocks and loops around the jump the group's, too, with the jumps out of them.
   */
  private void findGroupLabels(List<Statement> body) {
    int before = -1;
    while (before != groupLabels.size()) {
      before = groupLabels.size();
      Walk.statements(
          body,
          statement -> {
            switch (statement) {
              case Statement.Block block when isOfGroup(block) -> groupLabels.add(block.label());
              case Statement.Loop loop when isOfGroup(loop) -> groupLabels.add(loop.label());
              default -> {}
            }
          });
    }
  }

  /** Returns a copy of the steps in which the statements of items are changed. */
  static List<Step> mapped(List<Step> steps, UnaryOperator<List<Statement>> change) {
    List<Step> changed = new ArrayList<>(steps.size());
    for (Step step : steps) {
      changed.add(
          switch (step) {
            case Step.Items(List<Statement> body) -> new Step.Items(change.apply(body));
            case Step.Branch(KernelExpression condition, List<Step> then, List<Step> otherwise) ->
                new Step.Branch(condition, mapped(then, change), mapped(otherwise, change));
            case Step.Repeat(Label label, List<Step> body) ->
                new Step.Repeat(label, mapped(body, change));
            case Step.Scope(Label label, List<Step> body) ->
                new Step.Scope(label, mapped(body, change));
            case Step.Uniform _, Step.Jump _ -> step;
          });
    }
    return changed;
  }

  /** Visits the steps of items, in order. */
  static void forEachItems(List<Step> steps, Consumer<Step.Items> visitor) {
    for (Step step : steps) {
      switch (step) {
        case Step.Items items -> visitor.accept(items);
        case Step.Branch branch -> {
          forEachItems(branch.then(), visitor);
          forEachItems(branch.otherwise(), visitor);
        }
        case Step.Repeat repeat -> forEachItems(repeat.body(), visitor);
        case Step.Scope scope -> forEachItems(scope.body(), visitor);
        case Step.Uniform _, Step.Jump _ -> {}
      }
    }
  }

  /**
   * Returns whether a statement contains a barrier, or a jump of all items to the label of a block
   * or loop of the group.
   */
  private boolean isOfGroup(Statement statement) {
    return Walk.any(
        statement,
        part ->
            switch (part) {
              case Statement.Barrier _ -> true;
              case Statement.Break(Label label) ->
                  groupLabels.contains(label) && uniformity.isUniform(part);
              case Statement.Continue(Label label) ->
                  groupLabels.contains(label) && uniformity.isUniform(part);
              default -> false;
            });
  }

  private List<Step> steps(List<Statement> list) {
    List<Step> steps = new ArrayList<>();
    List<Statement> run = new ArrayList<>();
    for (Statement statement : list) {
      if (!isOfGroup(statement)) {
        run.add(statement);
        continue;
      }
      addRun(run, steps);
      run.clear();
      switch (statement) {
        case Statement.If(KernelExpression condition, var then, var otherwise) ->
            steps.add(new Step.Branch(condition, steps(then), steps(otherwise)));
        case Statement.Loop(Label label, var body) ->
            steps.add(new Step.Repeat(label, steps(body)));
        case Statement.Block(Label label, var body) ->
            steps.add(new Step.Scope(label, steps(body)));
        case Statement.Break _, Statement.Continue _ -> steps.add(new Step.Jump(statement));
        default -> {} // a barrier: the steps before it have ended
      }
    }
    addRun(run, steps);
    return steps;
  }

  private void addRun(List<Statement> run, List<Step> steps) {
    int from = 0;
    int to = run.size();
    while (from < to && run.get(from) instanceof Statement.Assign assign && isOfGroup(assign)) {
      steps.add(new Step.Uniform(assign));
      from++;
    }
    List<Step> behind = new ArrayList<>();
    while (to > from && run.get(to - 1) instanceof Statement.Assign assign && isOfGroup(assign)) {
      behind.addFirst(new Step.Uniform(assign));
      to--;
    }
    if (from < to) {
      steps.add(new Step.Items(List.copyOf(run.subList(from, to))));
    }
    steps.addAll(behind);
  }

  private boolean isOfGroup(Statement.Assign assign) {
    return groupVariables.contains(assign.target())
        && !Walk.any(
            assign.value(),
            part ->
                part instanceof KernelExpression.Read(Variable variable)
                    && !groupVariables.contains(variable));
  }
}
