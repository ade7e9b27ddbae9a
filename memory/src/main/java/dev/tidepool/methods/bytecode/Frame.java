package dev.tidepool.methods.bytecode;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the operand stack holds, and the locals that are references, at a point of a method. */
final class Frame {
  private final Map<Integer, Operand> locals;
  private final List<Operand> stack;

  Frame() {
    this(Map.of(), List.of());
  }

  private Frame(Map<Integer, Operand> locals, List<Operand> stack) {
    this.locals = new HashMap<>(locals);
    this.stack = new ArrayList<>(stack);
  }

  Frame copy() {
    return new Frame(locals, stack);
  }

  /** The operands, the top last; changes go to the frame. */
  List<Operand> stack() {
    return stack;
  }

  /** A local that is a reference. */
  Operand local(int slot) {
    return locals.getOrDefault(slot, new Operand.Mixed());
  }

  void setLocal(int slot, Operand operand) {
    locals.put(slot, operand);
  }

  /** Takes in what holds on another way to this point; returns whether that changed anything. */
  boolean merge(Frame other) {
    boolean changed = false;
    for (Map.Entry<Integer, Operand> local : locals.entrySet()) {
      if (!local.getValue().equals(other.local(local.getKey()))
          && !(local.getValue() instanceof Operand.Mixed)) {
        local.setValue(new Operand.Mixed());
        changed = true;
      }
    }
    for (int i = 0; i < stack.size(); i++) {
      if (!stack.get(i).equals(other.stack.get(i)) && !(stack.get(i) instanceof Operand.Mixed)) {
        stack.set(i, new Operand.Mixed());
        changed = true;
      }
    }
    return changed;
  }
}
