package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Variable;
import java.util.List;

/** The statements of a basic block, and its exit. */
record TranslatedBlock(List<Statement> statements, Exit exit) {
  /** The end of a block. Targets are numbers of blocks. */
  sealed interface Exit {}

  /** Always goes to one block. */
  record Jump(int target) implements Exit {}

  /** Goes to one of two different blocks. */
  record Branch(KernelExpression condition, int ifTrue, int ifFalse) implements Exit {}

  /** Goes to the target of the case that has the key, or to another block. */
  record Selection(Variable key, List<Case> cases, int otherwise) implements Exit {}

  /** A target and the keys that lead to it. */
  record Case(List<Integer> keys, int target) {}

  /** Leaves the method; the block's last statements do that. */
  record Leave() implements Exit {}
}
