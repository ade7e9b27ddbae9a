package dev.tidepool.methods.jvm;

import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Finds the variables whose values items need after a barrier. */
final class KeptVariables {
  private KeptVariables() {}

  /** Returns the variables that are kept for each item of a group. */
  static Set<Variable> of(List<Step> steps) {
    Set<Variable> kept = new LinkedHashSet<>();
    if (steps.size() == 1 && steps.getFirst() instanceof Step.Items) {
      return kept;
    }
    Set<Variable> ofGroup = new LinkedHashSet<>();
    ofGroup(steps, ofGroup);
    BarrierFission.forEachItems(steps, items -> kept.addAll(uses(items.body()).exposed()));
    conditions(steps, kept);
    kept.removeAll(ofGroup);
    return kept;
  }

  /** Adds the variables of which the group has one. */
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
          Walk.readVariables(branch.condition(), kept::add);
          conditions(branch.then(), kept);
          conditions(branch.otherwise(), kept);
        }
        case Step.Repeat repeat -> conditions(repeat.body(), kept);
        case Step.Scope scope -> conditions(scope.body(), kept);
        case Step.Items _, Step.Uniform _, Step.Jump _ -> {}
      }
    }
  }

  /**
   * The use of variables by statements.
   *
   * @param mentioned the variables that the statements set or read
   * @param exposed the variables whose values from before the statements may be read
   */
  record Uses(Set<Variable> mentioned, Set<Variable> exposed) {}

  /**
   * Returns the use of variables. Visits each statement once: kernels can have thousands of
   * variables.
   */
  static Uses uses(List<Statement> list) {
    Set<Variable> exposed = new LinkedHashSet<>();
    Set<Variable> mentioned = new LinkedHashSet<>();
    // Variables that were first mentioned inside of a statement, which need not set them: later
    // statements may read the value from before.
    Set<Variable> open = new HashSet<>();
    for (Statement statement : list) {
      Set<Variable> read = new LinkedHashSet<>();
      Walk.expressions(statement).forEach(expression -> Walk.readVariables(expression, read::add));
      for (Variable variable : read) {
        if (mentioned.add(variable) || open.contains(variable)) {
          exposed.add(variable);
        }
      }
      Variable target = Walk.target(statement);
      if (target != null && !mentioned.add(target) && open.contains(target)) {
        exposed.add(target);
      }
      Set<Variable> exposedInside = new HashSet<>();
      Set<Variable> inside = new LinkedHashSet<>();
      for (List<Statement> part : Walk.parts(statement)) {
        Uses uses = uses(part);
        inside.addAll(uses.mentioned());
        exposedInside.addAll(uses.exposed());
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
    return new Uses(mentioned, exposed);
  }
}
