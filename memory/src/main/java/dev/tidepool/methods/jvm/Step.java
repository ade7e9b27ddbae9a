package dev.tidepool.methods.jvm;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.Statement;
import java.util.List;

/** The steps of a group between its barriers, one after the other. */
sealed interface Step {
  /** Statements that each item executes; no item waits for another in them. */
  record Items(List<Statement> body) implements Step {}

  /** Sets a variable that has one value for the group. */
  record Uniform(Statement.Assign assign) implements Step {}

  /** A condition that has the same value for all items. */
  record Branch(KernelExpression condition, List<Step> then, List<Step> otherwise)
      implements Step {}

  /** A loop that all items execute together. */
  record Repeat(Statement.Label label, List<Step> body) implements Step {}

  /** A block that all items execute together. */
  record Scope(Statement.Label label, List<Step> body) implements Step {}

  /** A jump of all items together. */
  record Jump(Statement jump) implements Step {}
}
