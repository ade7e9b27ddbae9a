package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.bytecode.FlowGraph.BasicBlock;
import java.lang.classfile.Instruction;
import java.lang.classfile.instruction.IncrementInstruction;
import java.lang.classfile.instruction.LoadInstruction;
import java.lang.classfile.instruction.StoreInstruction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Finds which uses of a local slot belong to one variable. Java's compiler gives a slot to several
 * variables in turn; facts about one of them must not apply to the others. A load belongs to the
 * variable of all stores whose values may reach it, as in the data-flow analysis "reaching
 * definitions".
 */
final class LocalRanges {
  private static final int NO_SLOT = -1;

  private final List<Instruction> instructions;
  // For each instruction, followed by each slot at the entry: the slot that the instruction uses,
  // and another use of the same variable, or itself.
  private final int[] slots;
  private final int[] joined;

  private LocalRanges(List<Instruction> instructions, int entrySlots) {
    this.instructions = instructions;
    this.slots = new int[instructions.size() + entrySlots];
    this.joined = new int[slots.length];
    Arrays.setAll(joined, use -> use);
    Arrays.setAll(slots, use -> use - instructions.size());
    for (int at = 0; at < instructions.size(); at++) {
      slots[at] =
          switch (instructions.get(at)) {
            case LoadInstruction load -> load.slot();
            case StoreInstruction store -> store.slot();
            case IncrementInstruction increment -> increment.slot();
            default -> NO_SLOT;
          };
    }
  }

  /**
   * Returns the variables of a method.
   *
   * @param entrySlots how many slots its parameters have
   */
  static LocalRanges of(List<Instruction> instructions, FlowGraph graph, int entrySlots) {
    LocalRanges ranges = new LocalRanges(instructions, entrySlots);
    List<BitSet> atStart = new ArrayList<>();
    graph.blocks().forEach(_ -> atStart.add(new BitSet()));
    atStart.getFirst().set(instructions.size(), instructions.size() + entrySlots);
    boolean changed = true;
    while (changed) {
      changed = false;
      for (int i = 0; i < atStart.size(); i++) {
        BasicBlock block = graph.blocks().get(i);
        BitSet reaching = (BitSet) atStart.get(i).clone();
        ranges.follow(block, reaching);
        for (int next : block.successors()) {
          int before = atStart.get(next).cardinality();
          atStart.get(next).or(reaching);
          changed |= atStart.get(next).cardinality() > before;
        }
      }
    }
    return ranges;
  }

  /** Joins the uses in a block with the stores that reach them. */
  private void follow(BasicBlock block, BitSet reaching) {
    for (int at = block.first(); at < block.end(); at++) {
      Instruction instruction = instructions.get(at);
      int slot = slots[at];
      if (slot == NO_SLOT) {
        continue;
      }
      boolean isStore = instruction instanceof StoreInstruction;
      for (int use = reaching.nextSetBit(0); use >= 0; use = reaching.nextSetBit(use + 1)) {
        if (slots[use] == slot) {
          if (!isStore) {
            joined[find(at)] = find(use);
          }
          reaching.clear(use);
        }
      }
      // The stores that reached a load continue as the load, which is joined with all of them.
      reaching.set(at);
    }
  }

  private int find(int use) {
    int at = use;
    while (joined[at] != at) {
      joined[at] = joined[joined[at]];
      at = joined[at];
    }
    return at;
  }

  /** Returns a number that identifies the variable of a load, store or increment. */
  int variable(int instruction) {
    return find(instruction);
  }

  /** Returns a number that identifies the variable of a parameter. */
  int parameter(int slot) {
    return find(instructions.size() + slot);
  }
}
