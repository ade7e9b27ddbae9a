package dev.tidepool.methods.bytecode;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The operand stack and the locals that are references, at a point of a method. */
final class StackFrame {
  private final Map<Integer, StackOperand> locals;
  private final List<StackOperand> stack;

  StackFrame() {
    this(Map.of(), List.of());
  }

  private StackFrame(Map<Integer, StackOperand> locals, List<StackOperand> stack) {
    this.locals = new HashMap<>(locals);
    this.stack = new ArrayList<>(stack);
  }

  StackFrame copy() {
    return new StackFrame(locals, stack);
  }

  /** Returns the operands, the top last; changes apply to the frame. */
  List<StackOperand> stack() {
    return stack;
  }

  /** Returns a local that is a reference. */
  StackOperand local(int slot) {
    return locals.getOrDefault(slot, new StackOperand.Mixed());
  }

  void setLocal(int slot, StackOperand operand) {
    locals.put(slot, operand);
  }

  /** Merges the frame of another path to this point; returns whether that changed this frame. */
  boolean merge(StackFrame other) {
    boolean changed = false;
    for (Map.Entry<Integer, StackOperand> local : locals.entrySet()) {
      if (!local.getValue().equals(other.local(local.getKey()))
          && !(local.getValue() instanceof StackOperand.Mixed)) {
        local.setValue(new StackOperand.Mixed());
        changed = true;
      }
    }
    for (int i = 0; i < stack.size(); i++) {
      if (!stack.get(i).equals(other.stack.get(i))
          && !(stack.get(i) instanceof StackOperand.Mixed)) {
        stack.set(i, new StackOperand.Mixed());
        changed = true;
      }
    }
    return changed;
  }
}
