package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.ValueType;
import java.lang.classfile.Opcode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** The instructions that copy and move operands of the stack. */
final class StackShuffle {
  private StackShuffle() {}

  /**
   * Applies an instruction.
   *
   * @param stack the operands, the top last
   * @param shared makes an operand that may be used twice
   */
  static void apply(Opcode opcode, List<StackOperand> stack, UnaryOperator<StackOperand> shared) {
    switch (opcode) {
      case POP -> stack.removeLast();
      case POP2 -> remove(stack, 2);
      case SWAP -> {
        StackOperand top = stack.removeLast();
        stack.add(stack.size() - 1, top);
      }
      case DUP -> duplicate(stack, 1, 0, shared);
      case DUP_X1 -> duplicate(stack, 1, 1, shared);
      case DUP_X2 -> duplicate(stack, 1, 2, shared);
      case DUP2 -> duplicate(stack, 2, 0, shared);
      case DUP2_X1 -> duplicate(stack, 2, 1, shared);
      case DUP2_X2 -> duplicate(stack, 2, 2, shared);
      default -> throw new AssertionError(opcode);
    }
  }

  /** Puts copies of the operands in the top slots below the operands in the slots beneath. */
  private static void duplicate(
      List<StackOperand> stack, int slots, int beneath, UnaryOperator<StackOperand> shared) {
    List<StackOperand> top = remove(stack, slots);
    List<StackOperand> below = remove(stack, beneath);
    top.replaceAll(shared);
    stack.addAll(top);
    stack.addAll(below);
    stack.addAll(top);
  }

  /** Removes the operands in a number of slots; a long or double has two. */
  private static List<StackOperand> remove(List<StackOperand> stack, int slots) {
    List<StackOperand> removed = new ArrayList<>();
    int left = slots;
    while (left > 0) {
      StackOperand top = stack.removeLast();
      removed.addFirst(top);
      left -= slotsOf(top);
    }
    return removed;
  }

  private static int slotsOf(StackOperand operand) {
    return operand instanceof StackOperand.Value(var value)
            && (value.type() == ValueType.LONG || value.type() == ValueType.DOUBLE)
        ? 2
        : 1;
  }
}
