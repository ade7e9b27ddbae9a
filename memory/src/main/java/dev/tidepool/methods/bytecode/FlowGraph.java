package dev.tidepool.methods.bytecode;

import java.lang.classfile.Instruction;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.LookupSwitchInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.classfile.instruction.TableSwitchInstruction;
import java.lang.classfile.instruction.ThrowInstruction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The reachable basic blocks of a method, in reverse postorder: every block but the head of a loop
 * comes after all blocks that lead to it.
 *
 * <p>Dominators are found as in K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast Dominance
 * Algorithm" (2001).
 */
final class FlowGraph {
  /**
   * A sequence of instructions without a branch.
   *
   * @param first index of the first instruction
   * @param end index after the last instruction
   * @param successors the numbers of the blocks that may come next; for a condition, the block
   *     after it and then the target
   */
  record BasicBlock(int first, int end, List<Integer> successors) {}

  private final List<BasicBlock> blocks;
  private final int[] dominators;
  private final List<Set<Integer>> loops = new ArrayList<>();

  private FlowGraph(List<BasicBlock> blocks) {
    this.blocks = blocks;
    this.dominators = dominatorsOf(blocks);
    for (int i = 0; i < blocks.size(); i++) {
      loops.add(new TreeSet<>());
    }
  }

  /**
   * Returns the graph of a method.
   *
   * @throws dev.tidepool.KernelCompilationException if a loop has two entries
   */
  static FlowGraph of(MethodCode code) {
    FlowGraph graph = new FlowGraph(reachable(code));
    graph.findLoops(code);
    return graph;
  }

  /** Returns the blocks by their numbers. */
  List<BasicBlock> blocks() {
    return blocks;
  }

  /**
   * Returns the immediate dominator of a block: the last block that is on every path to it. The
   * first block has itself.
   */
  int dominator(int block) {
    return dominators[block];
  }

  /** Returns whether an edge leads back to the head of a loop. */
  static boolean isBack(int from, int to) {
    return to <= from;
  }

  /** Returns whether a block is the head of a loop. */
  boolean isLoopHead(int block) {
    return !loops.get(block).isEmpty();
  }

  /** Returns the blocks of a loop by its head. */
  Set<Integer> loop(int head) {
    return loops.get(head);
  }

  private static List<BasicBlock> reachable(MethodCode code) {
    List<Instruction> instructions = code.instructions();
    BitSet leaders = new BitSet();
    leaders.set(0);
    for (int i = 0; i < instructions.size(); i++) {
      if (endsBlock(instructions.get(i))) {
        leaders.set(i + 1);
        targets(code, i).forEach(leaders::set);
      }
    }
    List<Integer> order = postorder(code, leaders);
    Collections.reverse(order);
    int[] numbers = new int[instructions.size()];
    for (int i = 0; i < order.size(); i++) {
      numbers[order.get(i)] = i;
    }
    List<BasicBlock> blocks = new ArrayList<>();
    for (int first : order) {
      int end = end(instructions, leaders, first);
      blocks.add(
          new BasicBlock(
              first, end, next(code, leaders, first).stream().map(i -> numbers[i]).toList()));
    }
    return blocks;
  }

  private static int end(List<Instruction> instructions, BitSet leaders, int first) {
    int end = leaders.nextSetBit(first + 1);
    return end < 0 ? instructions.size() : Math.min(end, instructions.size());
  }

  private static List<Integer> next(MethodCode code, BitSet leaders, int first) {
    List<Instruction> instructions = code.instructions();
    int last = end(instructions, leaders, first) - 1;
    return endsBlock(instructions.get(last)) ? targets(code, last) : List.of(last + 1);
  }

  private static List<Integer> postorder(MethodCode code, BitSet leaders) {
    List<Integer> order = new ArrayList<>();
    BitSet seen = new BitSet();
    Deque<int[]> path = new ArrayDeque<>();
    path.push(new int[] {0, 0});
    seen.set(0);
    while (!path.isEmpty()) {
      int[] top = path.element();
      List<Integer> next = next(code, leaders, top[0]);
      if (top[1] == next.size()) {
        order.add(top[0]);
        path.pop();
        continue;
      }
      // The target of a branch is visited first, so the block after the branch precedes it in the
      // result.
      int successor = next.get(next.size() - 1 - top[1]);
      top[1]++;
      if (!seen.get(successor)) {
        seen.set(successor);
        path.push(new int[] {successor, 0});
      }
    }
    return order;
  }

  private static boolean endsBlock(Instruction instruction) {
    return instruction instanceof BranchInstruction
        || instruction instanceof TableSwitchInstruction
        || instruction instanceof LookupSwitchInstruction
        || instruction instanceof ReturnInstruction
        || instruction instanceof ThrowInstruction;
  }

  /** Returns the instructions that may follow an instruction that ends a block, each once. */
  static List<Integer> targets(MethodCode code, int at) {
    List<Integer> all = new ArrayList<>();
    switch (code.instructions().get(at)) {
      case BranchInstruction branch -> {
        if (!isGoto(branch)) {
          all.add(at + 1);
        }
        all.add(code.target(branch.target()));
      }
      case TableSwitchInstruction table -> {
        for (SwitchCase one : table.cases()) {
          all.add(code.target(one.target()));
        }
        all.add(code.target(table.defaultTarget()));
      }
      case LookupSwitchInstruction lookup -> {
        for (SwitchCase one : lookup.cases()) {
          all.add(code.target(one.target()));
        }
        all.add(code.target(lookup.defaultTarget()));
      }
      default -> {
        // A return or a throw: nothing follows.
      }
    }
    return all.stream().distinct().toList();
  }

  static boolean isGoto(BranchInstruction branch) {
    return branch.opcode() == Opcode.GOTO || branch.opcode() == Opcode.GOTO_W;
  }

  private static int[] dominatorsOf(List<BasicBlock> blocks) {
    int[] dominators = new int[blocks.size()];
    Arrays.fill(dominators, -1);
    dominators[0] = 0;
    boolean changed = true;
    while (changed) {
      changed = false;
      for (int from = 0; from < blocks.size(); from++) {
        for (int to : blocks.get(from).successors()) {
          if (to == 0) {
            continue;
          }
          int common = dominators[to] < 0 ? from : common(dominators, from, dominators[to]);
          if (common != dominators[to]) {
            dominators[to] = common;
            changed = true;
          }
        }
      }
    }
    return dominators;
  }

  private static int common(int[] dominators, int first, int second) {
    int a = first;
    int b = second;
    while (a != b) {
      while (a > b) {
        a = dominators[a];
      }
      while (b > a) {
        b = dominators[b];
      }
    }
    return a;
  }

  private boolean dominates(int block, int other) {
    int at = other;
    while (at > block) {
      at = dominators[at];
    }
    return at == block;
  }

  private void findLoops(MethodCode code) {
    List<List<Integer>> before = new ArrayList<>();
    blocks.forEach(_ -> before.add(new ArrayList<>()));
    for (int from = 0; from < blocks.size(); from++) {
      for (int to : blocks.get(from).successors()) {
        before.get(to).add(from);
      }
    }
    for (int from = 0; from < blocks.size(); from++) {
      for (int head : blocks.get(from).successors()) {
        if (!isBack(from, head)) {
          continue;
        }
        if (!dominates(head, from)) {
          throw Refusal.at(
              code.shown(),
              code.line(blocks.get(from).first()),
              "a loop with two entries",
              "compile the class from Java source");
        }
        addLoop(head, from, before);
      }
    }
  }

  private void addLoop(int head, int from, List<List<Integer>> before) {
    Set<Integer> members = loops.get(head);
    members.add(head);
    Deque<Integer> open = new ArrayDeque<>(List.of(from));
    while (!open.isEmpty()) {
      int block = open.pop();
      if (members.add(block)) {
        open.addAll(before.get(block));
      }
    }
  }
}
