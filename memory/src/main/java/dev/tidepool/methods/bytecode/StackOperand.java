package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;

/** What a slot of the operand stack or a local variable holds. */
sealed interface StackOperand {
  /** A number. */
  record Value(KernelExpression expression) implements StackOperand {}

  /** A certain array. */
  record Array(KernelArray array) implements StackOperand {}

  /** The work item. */
  record Item() implements StackOperand {}

  /** One of several references, by the way that was taken. */
  record Mixed() implements StackOperand {}
}
