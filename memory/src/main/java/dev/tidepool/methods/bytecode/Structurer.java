package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.bytecode.TranslatedBlock.Branch;
import dev.tidepool.methods.bytecode.TranslatedBlock.Case;
import dev.tidepool.methods.bytecode.TranslatedBlock.Jump;
import dev.tidepool.methods.bytecode.TranslatedBlock.Leave;
import dev.tidepool.methods.bytecode.TranslatedBlock.Selection;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Binary;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.KernelExpression.Read;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Assign;
import dev.tidepool.methods.tree.Statement.Barrier;
import dev.tidepool.methods.tree.Statement.Block;
import dev.tidepool.methods.tree.Statement.Break;
import dev.tidepool.methods.tree.Statement.Continue;
import dev.tidepool.methods.tree.Statement.If;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.Statement.Loop;
import dev.tidepool.methods.tree.Statement.Return;
import dev.tidepool.methods.tree.Statement.Store;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Nests the blocks of a graph whose loops have one entry, as in N. Ramsey, "Beyond Relooper:
 * Recursive Translation of Unstructured Control Flow to Structured Control Flow" (ICFP 2022). A
 * block to which several others lead is placed after a {@link Block} around them, which they leave.
 *
 * <p>This class differs from the paper in two ways. The blocks after a loop are placed after its
 * {@link Loop}, not in the branch that leaves it, so that loops contain only what they repeat. An
 * early return of several conditions, as in {@code if (i >= n || j >= m) return;}, is copied to
 * each of them, so that no condition contains a barrier after the return.
 */
final class Structurer {
  /** The most statements of an early return that is copied. */
  private static final int MOST_COPIED = 8;

  /** The deepest nesting of statements: visitors are recursive. */
  static final int DEEPEST = 500;

  private final MethodCode method;
  private final FlowGraph graph;
  private final List<TranslatedBlock> code;
  private final Label[] labels;
  // For each block: the blocks that are placed after it, innermost first.
  private final List<List<Integer>> followers = new ArrayList<>();
  private final BitSet isFollower = new BitSet();
  private int depth;
  // Short blocks that return, in a method with barriers; not the method's last block.
  private final BitSet earlyReturns = new BitSet();

  private Structurer(
      MethodCode method, FlowGraph graph, List<TranslatedBlock> code, Numbers numbers) {
    this.method = method;
    this.graph = graph;
    this.code = code;
    this.labels = new Label[2 * code.size()];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = numbers.label();
    }
    code.forEach(_ -> followers.add(new ArrayList<>()));
    if (code.stream().anyMatch(block -> Walk.any(block.statements(), Barrier.class::isInstance))) {
      int last = graph.blocks().stream().mapToInt(FlowGraph.BasicBlock::end).max().orElse(0);
      for (int block = 0; block < code.size(); block++) {
        boolean isLast = graph.blocks().get(block).end() == last;
        earlyReturns.set(block, !isLast && doesLittleAndReturns(code.get(block).statements()));
      }
    }
    int[] entries = new int[code.size()];
    for (int from = 0; from < code.size(); from++) {
      for (int to : graph.blocks().get(from).successors()) {
        entries[to] += FlowGraph.isBack(from, to) || isCopied(from, to) ? 0 : 1;
      }
    }
    for (int block = 1; block < code.size(); block++) {
      Integer place = entries[block] == 0 ? null : loopLeftOnTheWayTo(block);
      if (place == null && entries[block] > 1) {
        place = graph.dominator(block);
      }
      if (place != null) {
        followers.get(place).add(block);
        isFollower.set(block);
      }
    }
  }

  /** Returns the statements of a method. */
  static List<Statement> structure(
      MethodCode method, FlowGraph graph, List<TranslatedBlock> code, Numbers numbers) {
    return new Structurer(method, graph, code, numbers).tree(0);
  }

  private static boolean doesLittleAndReturns(List<Statement> statements) {
    return !statements.isEmpty()
        && statements.getLast() instanceof Return
        && statements.size() <= MOST_COPIED
        && statements.stream()
            .allMatch(
                part -> part instanceof Return || part instanceof Assign || part instanceof Store);
  }

  /**
   * Returns the head of the outermost loop that contains a block's dominator and not the block;
   * null if there is none.
   */
  private @Nullable Integer loopLeftOnTheWayTo(int block) {
    for (int head = 0; head < code.size(); head++) {
      if (graph.loop(head).contains(graph.dominator(block)) && !graph.loop(head).contains(block)) {
        return head;
      }
    }
    return null;
  }

  /** Returns a block and all that it dominates. */
  private List<Statement> tree(int block) {
    List<Statement> statements = new ArrayList<>();
    int at = block;
    // A block after another may have further blocks after it; this loop avoids a recursion.
    for (List<Integer> behind = behind(at); !behind.isEmpty(); behind = behind(at)) {
      int last = behind.getLast();
      List<Statement> before = followed(alone(at), behind.subList(0, behind.size() - 1));
      statements.add(new Block(labels[last], before));
      at = last;
    }
    statements.addAll(alone(at));
    return statements;
  }

  /** Returns the blocks placed after a block; for the head of a loop, those after the loop. */
  private List<Integer> behind(int block) {
    return followers.get(block).stream()
        .filter(follower -> !graph.isLoopHead(block) || !graph.loop(block).contains(follower))
        .toList();
  }

  /** Returns a block without the blocks after it; for the head of a loop, the loop. */
  private List<Statement> alone(int block) {
    if (!graph.isLoopHead(block)) {
      return within(block);
    }
    List<Integer> inside = new ArrayList<>(followers.get(block));
    inside.removeAll(behind(block));
    return List.of(
        new Loop(loopLabel(block), nested(block, () -> followed(within(block), inside))));
  }

  /** Returns statements followed by blocks for which they may leave. */
  private List<Statement> followed(List<Statement> statements, List<Integer> behind) {
    List<Statement> nested = statements;
    // In order: each block may also leave for the later ones.
    for (int follower : behind) {
      List<Statement> outer = new ArrayList<>();
      outer.add(new Block(labels[follower], nested));
      outer.addAll(tree(follower));
      nested = outer;
    }
    return nested;
  }

  /** Returns statements that are nested in others. */
  private List<Statement> nested(int block, Supplier<List<Statement>> statements) {
    if (depth == DEEPEST) {
      throw tooDeep(block, "what is inside of more than " + DEEPEST + " conditions and loops");
    }
    depth++;
    List<Statement> found = statements.get();
    depth--;
    return found;
  }

  private RuntimeException tooDeep(int block, String what) {
    return new Place(method, graph.blocks().get(block).end() - 1)
        .refuse(
            what, "join conditions by & in place of &&, or divide the method into several kernels");
  }

  private List<Statement> within(int block) {
    TranslatedBlock own = code.get(block);
    List<Statement> statements = new ArrayList<>(own.statements());
    switch (own.exit()) {
      case Jump(int target) -> statements.addAll(jump(block, target));
      case Branch(KernelExpression condition, int ifTrue, int ifFalse) ->
          statements.add(new If(condition, jump(block, ifTrue), jump(block, ifFalse)));
      case Selection selection -> statements.addAll(selection(block, selection));
      case Leave() -> {
        // The statements of the block leave the method.
      }
    }
    return statements;
  }

  private List<Statement> selection(int block, Selection selection) {
    // Each case is a condition that contains the next one.
    if (depth + selection.cases().size() > DEEPEST) {
      throw tooDeep(block, "a switch of " + selection.cases().size() + " cases");
    }
    List<Statement> otherwise = jump(block, selection.otherwise());
    for (Case one : selection.cases().reversed()) {
      otherwise =
          List.of(new If(anyOf(selection.key(), one.keys()), jump(block, one.target()), otherwise));
    }
    return otherwise;
  }

  /** Joins the comparisons in halves, so that they nest as little as possible. */
  private static KernelExpression anyOf(Variable key, List<Integer> keys) {
    int half = keys.size() / 2;
    return half == 0
        ? isKey(key, keys.getFirst())
        : new Binary(
            Operator.OR,
            anyOf(key, keys.subList(0, half)),
            anyOf(key, keys.subList(half, keys.size())));
  }

  private static KernelExpression isKey(Variable key, int value) {
    return new Compare(Comparison.EQUAL, new Read(key), Constant.of(value), false);
  }

  private List<Statement> jump(int from, int to) {
    if (FlowGraph.isBack(from, to)) {
      return List.of(new Continue(loopLabel(to)));
    }
    if (isCopied(from, to)) {
      List<Statement> copy = new ArrayList<>(code.get(to).statements());
      copy.set(copy.size() - 1, new Return());
      return copy;
    }
    return isFollower.get(to) ? List.of(new Break(labels[to])) : nested(to, () -> tree(to));
  }

  /**
   * Returns whether a jump is replaced by a copy of the early return that it leads to. A jump that
   * ends a loop is not replaced: a jump from the head of the loop, or from a block that also jumps
   * back to the head.
   */
  private boolean isCopied(int from, int to) {
    if (!earlyReturns.get(to)) {
      return false;
    }
    for (int head = 0; head < code.size(); head++) {
      if (graph.loop(head).contains(from) && !graph.loop(head).contains(to)) {
        boolean goesBack =
            graph.blocks().get(from).successors().stream()
                .anyMatch(next -> FlowGraph.isBack(from, next));
        return from != head && !goesBack;
      }
    }
    return true;
  }

  private Label loopLabel(int head) {
    return labels[code.size() + head];
  }
}
