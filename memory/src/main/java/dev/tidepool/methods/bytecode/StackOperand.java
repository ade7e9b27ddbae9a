package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;

/** The content of a slot of the operand stack, or of a local variable. */
sealed interface StackOperand {
  /** A number. */
  record Value(KernelExpression expression) implements StackOperand {}

  /** A known array. */
  record Array(KernelArray array) implements StackOperand {}

  /** The work item. */
  record Item() implements StackOperand {}

  /** One of several references, depending on the path that was taken. */
  record Mixed() implements StackOperand {}
}
