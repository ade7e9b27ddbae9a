package dev.tidepool.methods.jvm;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Finds the variables whose values items need again behind a barrier. */
final class KeptVariables {
  private KeptVariables() {}

  /** The variables that are kept for each item of a group. */
  static Set<Variable> of(List<Step> steps) {
    Set<Variable> kept = new LinkedHashSet<>();
    if (steps.size() == 1 && steps.getFirst() instanceof Step.Items) {
      return kept;
    }
    Set<Variable> ofGroup = new LinkedHashSet<>();
    ofGroup(steps, ofGroup);
    BarrierFission.forEachItems(
        steps,
        items -> {
          for (Variable variable : mentioned(items.body())) {
            if (!ofGroup.contains(variable) && isExposed(variable, items.body())) {
              kept.add(variable);
            }
          }
        });
    conditions(steps, kept);
    kept.removeAll(ofGroup);
    return kept;
  }

  /** The variables of the group. */
  static void ofGroup(List<Step> steps, Set<Variable> found) {
    for (Step step : steps) {
      switch (step) {
        case Step.Uniform(Statement.Assign assign) -> found.add(assign.target());
        case Step.Branch branch -> {
          ofGroup(branch.then(), found);
          ofGroup(branch.otherwise(), found);
        }
        case Step.Repeat repeat -> ofGroup(repeat.body(), found);
        case Step.Scope scope -> ofGroup(scope.body(), found);
        case Step.Items _, Step.Jump _ -> {}
      }
    }
  }

  private static void conditions(List<Step> steps, Set<Variable> kept) {
    for (Step step : steps) {
      switch (step) {
        case Step.Branch branch -> {
          Walk.expressions(
              branch.condition(),
              part -> {
                if (part instanceof KernelExpression.Read(Variable variable)) {
                  kept.add(variable);
                }
              });
          conditions(branch.then(), kept);
          conditions(branch.otherwise(), kept);
        }
        case Step.Repeat repeat -> conditions(repeat.body(), kept);
        case Step.Scope scope -> conditions(scope.body(), kept);
        case Step.Items _, Step.Uniform _, Step.Jump _ -> {}
      }
    }
  }

  /** The variables that statements set or read. */
  static Set<Variable> mentioned(List<Statement> list) {
    Set<Variable> found = new LinkedHashSet<>();
    Walk.statements(
        list,
        statement -> {
          Variable target = Walk.target(statement);
          if (target != null) {
            found.add(target);
          }
          Walk.expressions(statement)
              .forEach(
                  expression ->
                      Walk.expressions(
                          expression,
                          part -> {
                            if (part instanceof KernelExpression.Read(Variable variable)) {
                              found.add(variable);
                            }
                          }));
        });
    return found;
  }

  /** Whether statements may read a value that a variable had before them. */
  static boolean isExposed(Variable variable, List<Statement> list) {
    for (int i = 0; i < list.size(); i++) {
      Statement statement = list.get(i);
      if (!Walk.mentions(statement, variable)) {
        continue;
      }
      if (Walk.reads(statement, variable)) {
        return true;
      }
      if (variable.equals(Walk.target(statement))) {
        return false;
      }
      // It is used inside the statement: nothing behind it may read what it had before.
      for (Statement later : list.subList(i + 1, list.size())) {
        if (Walk.mentions(later, variable)) {
          return true;
        }
      }
      for (List<Statement> part : Walk.parts(statement)) {
        if (isExposed(variable, part)) {
          return true;
        }
      }
      return false;
    }
    return false;
  }
}
