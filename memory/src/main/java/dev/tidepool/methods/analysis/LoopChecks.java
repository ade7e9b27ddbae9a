package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Replaces the tests at each access in a loop by one test in front of the loop. If the test holds,
 * the accesses whose indices are affine in the loop's variable are within their arrays in every
 * round, and run without tests. Otherwise the loop runs unchanged, so faults occur at the same
 * places.
 *
 * <p>The variable runs from its value in front of the loop to the last value that the loop's own
 * test admits. An index is {@code factor * variable + offset}. If the index, computed as a long, is
 * within the array at both ends, it is also within the array between them, and no int of it wraps.
 */
public final class LoopChecks {
  /** Loops with more statements are not duplicated. */
  private static final int MOST_STATEMENTS = 100;

  private final boolean longIndices;
  private final Predicate<Statement> stays;
  private int labels;
  private int hoisted;

  private LoopChecks(int labels, boolean longIndices, Predicate<Statement> stays) {
    this.labels = labels;
    this.longIndices = longIndices;
    this.stays = stays;
  }

  /**
   * Returns a kernel whose innermost counted loops are tested once; indices keep their types. Loops
   * that decide how items reach barriers are left unchanged, because items may differ in the test.
   */
  public static KernelTree hoisted(KernelTree tree) {
    Predicate<Statement> decides =
        Walk.any(tree.body(), Statement.Barrier.class::isInstance)
            ? BarrierControl.of(tree)::decides
            : _ -> false;
    LoopChecks checks = new LoopChecks(tree.labels(), false, decides);
    List<Statement> body = checks.rewritten(tree.body());
    return tree.withBody(body, tree.variables(), checks.labels);
  }

  /**
   * Returns statements whose innermost counted loops are tested once. After the test, indices are
   * longs: virtual machines vectorise such loops. Loops that add up floats are not vectorised and
   * are left unchanged.
   *
   * @param labels the labels of the kernel in use have smaller ids
   */
  public static Result of(List<Statement> body, int labels) {
    LoopChecks checks = new LoopChecks(labels, true, LoopChecks::addsFloats);
    List<Statement> changed = checks.rewritten(body);
    return new Result(changed, checks.labels, checks.hoisted);
  }

  /**
   * The changed statements.
   *
   * @param labels the labels in use have smaller ids
   * @param loops the number of loops with a test in front
   */
  public record Result(List<Statement> body, int labels, int loops) {
    /** Copies the list. */
    public Result {
      body = List.copyOf(body);
    }
  }

  private List<Statement> rewritten(List<Statement> list) {
    List<Statement> changed = new ArrayList<>(list.size());
    for (Statement statement : list) {
      changed.add(
          switch (statement) {
            case Statement.If(KernelExpression condition, var then, var otherwise) ->
                new Statement.If(condition, rewritten(then), rewritten(otherwise));
            case Statement.Block(Statement.Label label, var body) ->
                new Statement.Block(label, rewritten(body));
            case Statement.Loop loop ->
                isInnermost(loop)
                    ? tested(loop)
                    : new Statement.Loop(loop.label(), rewritten(loop.body()));
            default -> statement;
          });
    }
    return changed;
  }

  private static boolean isInnermost(Statement.Loop loop) {
    return !Walk.any(
        loop.body(), part -> part instanceof Statement.Loop || part instanceof Statement.Barrier);
  }

  private Statement tested(Statement.Loop loop) {
    CountedLoop counted = stays.test(loop) ? null : CountedLoop.of(loop);
    if (counted == null) {
      return loop;
    }
    LoopAccesses accesses = LoopAccesses.of(counted);
    if (accesses.isEmpty() || accesses.statements() > MOST_STATEMENTS) {
      return loop;
    }
    hoisted++;
    StatementCopy copy =
        new StatementCopy(
            labels, access -> accesses.isUnderstood(access) ? index(access, accesses) : null);
    List<Statement> untested = copy.of(List.of(loop));
    labels = copy.labels();
    return new Statement.If(accesses.test(), untested, List.of(loop));
  }

  /** Returns whether the loop accumulates floats in a variable. */
  private static boolean addsFloats(Statement loop) {
    return Walk.any(
        loop,
        statement ->
            statement instanceof Statement.Assign(Variable target, KernelExpression value)
                && target.type().isFloating()
                && Walk.reads(value, target));
  }

  private KernelExpression index(Statement access, LoopAccesses accesses) {
    // Arrays of an item or group are Java arrays, whose indices are ints.
    boolean mayWiden = longIndices && Walk.array(access) instanceof KernelArray.Argument;
    KernelExpression wide = mayWiden ? accesses.longIndex(access) : null;
    return wide == null ? Walk.expressions(access).getFirst() : wide;
  }
}
