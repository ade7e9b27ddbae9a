package dev.tidepool.methods.jvm;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.HashSet;
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
    BarrierFission.forEachItems(steps, items -> kept.addAll(exposed(items.body())));
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
    return scan(list, new LinkedHashSet<>());
  }

  /** The variables whose values from before statements these may read. */
  static Set<Variable> exposed(List<Statement> list) {
    Set<Variable> exposed = new LinkedHashSet<>();
    scan(list, exposed);
    return exposed;
  }

  /**
   * Adds the variables whose values from before statements these may read. Each statement is
   * visited once, because kernels can have thousands of variables.
   *
   * @return all that they set or read
   */
  private static Set<Variable> scan(List<Statement> list, Set<Variable> exposed) {
    Set<Variable> mentioned = new LinkedHashSet<>();
    // The statement that mentions them first need not set them: what is behind it may read the
    // value from before.
    Set<Variable> open = new HashSet<>();
    for (Statement statement : list) {
      for (Variable read : reads(statement)) {
        if (mentioned.add(read) || open.contains(read)) {
          exposed.add(read);
        }
      }
      Variable target = Walk.target(statement);
      if (target != null && !mentioned.add(target) && open.contains(target)) {
        exposed.add(target);
      }
      Set<Variable> exposedInside = new HashSet<>();
      Set<Variable> inside = new LinkedHashSet<>();
      for (List<Statement> part : Walk.parts(statement)) {
        inside.addAll(scan(part, exposedInside));
      }
      for (Variable variable : inside) {
        boolean isFirst = mentioned.add(variable);
        if (isFirst ? exposedInside.contains(variable) : open.contains(variable)) {
          exposed.add(variable);
        }
        if (isFirst) {
          open.add(variable);
        }
      }
    }
    return mentioned;
  }

  /** The variables that a statement itself, without those inside it, reads. */
  private static Set<Variable> reads(Statement statement) {
    Set<Variable> found = new LinkedHashSet<>();
    for (KernelExpression expression : Walk.expressions(statement)) {
      Walk.expressions(
          expression,
          part -> {
            if (part instanceof KernelExpression.Read(Variable variable)) {
              found.add(variable);
            }
          });
    }
    return found;
  }
}
