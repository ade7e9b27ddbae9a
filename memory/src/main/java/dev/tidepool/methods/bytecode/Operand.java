package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.Expression;
import dev.tidepool.methods.tree.KernelArray;

/** What a slot of the operand stack or a local variable holds. */
sealed interface Operand {
  /** A number. */
  record Value(Expression expression) implements Operand {}

  /** A certain array. */
  record Array(KernelArray array) implements Operand {}

  /** The work item. */
  record Item() implements Operand {}

  /** One of several references, by the way that was taken. */
  record Mixed() implements Operand {}
}
