package dev.tidepool.expression.jvm;

import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Known;
import dev.tidepool.expression.types.TypedProgram;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Divides a program into the pieces in which the CPU computes one block of elements: loops of
 * simple operations, which the compiler vectorises, and routines for the functions between them.
 * One piece passes a value to another in a slot, an array of one block's length.
 *
 * <p>Pieces are short because the compiler gives up on long loops, and because it does not compile
 * generated methods that are too long.
 */
final class LoopPlan {
  /** With more operations, a loop that is not vectorised takes longer than its memory accesses. */
  private static final int MAX_STREAMED = 3;

  /** The narrowest elements of a streaming loop, in bytes. */
  private static final int MIN_STREAMED_BYTES = 4;

  /** Operations that take one cycle or less each, for one element at a time. */
  private static final Set<Op> STREAMED =
      EnumSet.of(
          Op.LOAD,
          Op.CONSTANT,
          Op.UNIFORM,
          Op.NEGATE,
          Op.ADD,
          Op.SUBTRACT,
          Op.MULTIPLY,
          Op.BIT_AND,
          Op.BIT_OR,
          Op.BIT_XOR);

  /**
   * The most operations of one loop; with three operands each they need fewer than 255 parameter
   * slots.
   */
  private static final int MAX_LOOP = 32;

  /** A step over all elements of a block. */
  sealed interface Piece {}

  /**
   * Simple operations in one loop.
   *
   * @param nodes the nodes that are computed, in order; leaves among them are only copied
   * @param results the slots to which a node's value is written
   */
  record Loop(List<Node> nodes, Map<Node, List<Integer>> results) implements Piece {}

  /** One function over whole slots. */
  record Routine(Node node, List<Integer> args, List<Integer> results) implements Piece {}

  private final List<Piece> pieces = new ArrayList<>();
  private final List<ScalarType> slots = new ArrayList<>();
  private final Map<Node, Integer> home = new HashMap<>();
  private final int[] inputs;
  private final int[] outputs;

  private final Map<Node, List<Integer>> stored = new HashMap<>();
  private final Map<ScalarType, Deque<Integer>> free = new EnumMap<>(ScalarType.class);

  LoopPlan(TypedProgram program) {
    int arrays = program.arrays().size();
    inputs = new int[arrays];
    outputs = new int[arrays];
    Arrays.fill(inputs, -1);
    Arrays.fill(outputs, -1);
    for (TypedProgram.Store store : program.stores()) {
      outputs[store.array()] = slot(store.value().type());
      stored.computeIfAbsent(store.value(), _ -> new ArrayList<>()).add(outputs[store.array()]);
    }
    List<Node> nodes = program.nodes();
    for (Node node : nodes) {
      if (node.op() == Op.LOAD) {
        inputs[(int) node.payload()] = slot(node.type());
        home.put(node, inputs[(int) node.payload()]);
      }
    }
    place(group(nodes));
  }

  List<Piece> pieces() {
    return pieces;
  }

  /**
   * Returns whether the plan is one loop that does little for each element. If no cache holds the
   * arrays, memory limits such a loop, whether it is vectorised or not.
   */
  boolean isStreaming() {
    return pieces.size() == 1
        && pieces.getFirst() instanceof Loop(List<Node> nodes, _)
        && nodes.stream().filter(node -> !node.isLeaf()).count() <= MAX_STREAMED
        && nodes.stream().allMatch(node -> STREAMED.contains(node.op()))
        && slots.stream().allMatch(type -> type.byteSize() >= MIN_STREAMED_BYTES);
  }

  /** Returns the element type of each slot. */
  List<ScalarType> slots() {
    return slots;
  }

  /** Returns the slot to which an array is copied; -1 if the array is not read. */
  int input(int array) {
    return inputs[array];
  }

  /** Returns the slot from which an array is copied; -1 if the array is not written. */
  int output(int array) {
    return outputs[array];
  }

  /** Returns the slot from which later pieces read the node's value. */
  int home(Node node) {
    return Known.in(home, node);
  }

  private int slot(ScalarType type) {
    slots.add(type);
    return slots.size() - 1;
  }

  /**
   * Groups the nodes by levels; the functions of a level come before its loops. The level of an
   * operation is the length of the longest chain of functions up to it.
   */
  private List<List<Node>> group(List<Node> nodes) {
    Set<Node> arguments = new HashSet<>();
    nodes.stream().filter(Node::isFunction).forEach(node -> arguments.addAll(node.args()));
    Map<Node, Integer> levels = new HashMap<>();
    List<List<Node>> functions = new ArrayList<>();
    List<List<Node>> loops = new ArrayList<>();
    for (Node node : nodes) {
      int level = 0;
      for (Node arg : node.args()) {
        level = Math.max(level, Known.in(levels, arg));
      }
      level += node.isFunction() ? 1 : 0;
      levels.put(node, level);
      while (loops.size() <= level) {
        functions.add(new ArrayList<>());
        loops.add(new ArrayList<>());
      }
      if (node.isFunction()) {
        functions.get(level).add(node);
      } else if (!node.isLeaf() || isCopied(node, arguments)) {
        loops.get(level).add(node);
      }
    }
    List<List<Node>> groups = new ArrayList<>();
    for (int level = 0; level < loops.size(); level++) {
      functions.get(level).forEach(function -> groups.add(List.of(function)));
      List<Node> loop = loops.get(level);
      for (int at = 0; at < loop.size(); at += MAX_LOOP) {
        groups.add(loop.subList(at, Math.min(at + MAX_LOOP, loop.size())));
      }
    }
    return groups;
  }

  /**
   * Returns whether a leaf is copied to a slot: a leaf that is stored, or a constant or uniform
   * that a routine needs in a slot.
   */
  private boolean isCopied(Node leaf, Set<Node> arguments) {
    return stored.containsKey(leaf) || (leaf.op() != Op.LOAD && arguments.contains(leaf));
  }

  private void place(List<List<Node>> groups) {
    Map<Node, Integer> lastUse = new HashMap<>();
    for (int i = 0; i < groups.size(); i++) {
      for (Node node : groups.get(i)) {
        for (Node arg : node.args()) {
          if (!groups.get(i).contains(arg)) {
            lastUse.put(arg, i);
          }
        }
      }
    }
    List<List<Node>> endingAt = new ArrayList<>();
    groups.forEach(_ -> endingAt.add(new ArrayList<>()));
    lastUse.forEach((node, use) -> endingAt.get(use).add(node));
    for (int i = 0; i < groups.size(); i++) {
      pieces.add(piece(groups.get(i), lastUse));
      for (Node ended : endingAt.get(i)) {
        boolean temporary = ended.op() != Op.LOAD && !stored.containsKey(ended);
        if (temporary && home.containsKey(ended)) {
          free.computeIfAbsent(ended.type(), _ -> new ArrayDeque<>()).push(home.get(ended));
        }
      }
    }
  }

  private Piece piece(List<Node> group, Map<Node, Integer> lastUse) {
    Map<Node, List<Integer>> results = new LinkedHashMap<>();
    for (Node node : group) {
      List<Integer> destinations = new ArrayList<>(stored.getOrDefault(node, List.of()));
      boolean usedLater = lastUse.containsKey(node);
      if (destinations.isEmpty() && usedLater && node.op() != Op.LOAD) {
        Deque<Integer> idle = free.get(node.type());
        destinations.add(idle == null || idle.isEmpty() ? slot(node.type()) : idle.pop());
      }
      if (!destinations.isEmpty()) {
        results.put(node, destinations);
        home.putIfAbsent(node, destinations.getFirst());
      }
    }
    Node first = group.getFirst();
    if (first.isFunction()) {
      return new Routine(
          first, first.args().stream().map(home::get).toList(), Known.in(results, first));
    }
    return new Loop(group, results);
  }
}
