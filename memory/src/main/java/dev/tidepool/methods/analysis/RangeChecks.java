package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Rewriter;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Puts one test of the launch's range in front of a kernel, in place of tests at accesses that
 * every item makes at an index that grows evenly with its numbers, or with the variable of a
 * counted loop whose bounds are the same for all items: {@code x[i]}, {@code x[2 * i + 1]}, {@code
 * x[row * width + k]}. All items find the same, so that compilers take the test out of their loop
 * over the items of a group, and vectorise what is left. If the test fails, the kernel runs as it
 * was, so faults stay where they are.
 *
 * <p>An index is {@code factor * number + rest} for each of its axes. If it is inside of the array
 * at all corners of the range, computed as longs, then it is between them too, and no int of it
 * wraps. One product of two ints and a few ints add up to a long; where there are more products,
 * the test asks that each is an int.
 *
 * <p>Kernels with barriers are left alone: they compute more than they load.
 */
public final class RangeChecks {
  private static final int DIMENSIONS = 3;

  /** Kernels of more statements are not doubled. */
  private static final int MOST_STATEMENTS = 100;

  /** Longer indices are not followed. */
  private static final int LONGEST_INDEX = 50;

  /** Deeper loops are not followed. */
  private static final int MOST_AXES = 8;

  private final int firstId;
  private final List<Axis> axes = new ArrayList<>();
  private final Map<Variable, KernelExpression> known = new HashMap<>();
  private final Set<Statement> understood = Collections.newSetFromMap(new IdentityHashMap<>());
  private final Set<KernelExpression> tests = new LinkedHashSet<>();
  private int loops;
  private boolean hasUnderstoodLoop;

  /**
   * What an index may grow with: a number of the item, or the variable of a loop.
   *
   * @param variable stands for it in expressions
   * @param least no value is less; a long, equal for all items
   * @param greatest no value is greater; a long, equal for all items
   * @param test whether it is between them, and an int
   */
  private record Axis(
      Variable variable,
      KernelExpression least,
      KernelExpression greatest,
      @Nullable KernelExpression test) {}

  private RangeChecks(int firstId) {
    this.firstId = firstId;
    for (int dimension = 0; dimension < DIMENSIONS; dimension++) {
      KernelExpression size = new ItemNumber(ItemNumber.Kind.GLOBAL_SIZE, dimension);
      axes.add(
          new Axis(
              new Variable(firstId + dimension, ValueType.INT),
              Constant.of(0L),
              new KernelExpression.Binary(Operator.SUBTRACT, size, Constant.of(1L)),
              Tests.isAtMost(size, Integer.MAX_VALUE)));
    }
  }

  /** Returns a kernel with a test of its range in front, or as it was. */
  public static KernelTree hoisted(KernelTree tree) {
    int[] statements = {0};
    Walk.statements(tree.body(), _ -> statements[0]++);
    if (statements[0] > MOST_STATEMENTS
        || Walk.any(tree.body(), Statement.Barrier.class::isInstance)) {
      return tree;
    }
    RangeChecks checks = new RangeChecks(tree.variables());
    checks.visit(tree.body());
    boolean hasLoop = Walk.any(tree.body(), Statement.Loop.class::isInstance);
    if (checks.understood.isEmpty() || (hasLoop && !checks.hasUnderstoodLoop)) {
      return tree;
    }
    StatementCopy copy = new StatementCopy(tree.labels(), checks::untestedIndex);
    List<Statement> untested = copy.of(tree.body());
    Statement either = new Statement.If(Tests.all(checks.tests), untested, tree.body());
    return tree.withBody(List.of(either), tree.variables(), copy.labels());
  }

  private @Nullable KernelExpression untestedIndex(Statement access) {
    return understood.contains(access) ? Walk.expressions(access).getFirst() : null;
  }

  /** Notes what every item does, and not what only some do. */
  private void visit(List<Statement> list) {
    for (Statement statement : list) {
      switch (statement) {
        case Statement.Load load when load.site() != null -> note(load, load.array(), load.index());
        case Statement.Store store when store.site() != null ->
            note(store, store.array(), store.index());
        case Statement.Block block -> visit(block.body());
        case Statement.Loop loop -> visit(loop);
        default -> {}
      }
      KernelExpression value =
          statement instanceof Statement.Assign assign ? inNumbers(assign.value()) : null;
      forget(List.of(statement));
      if (statement instanceof Statement.Assign assign && value != null) {
        known.put(assign.target(), value);
      }
    }
  }

  private void forget(List<Statement> list) {
    Walk.statements(list, part -> known.remove(Walk.target(part)));
  }

  private void visit(Statement.Loop loop) {
    CountedLoop counted = CountedLoop.of(loop);
    if (counted == null || axes.size() >= MOST_AXES) {
      return;
    }
    KernelExpression first = known.get(counted.variable());
    KernelExpression last = inNumbers(counted.last());
    if (first == null || last == null || !isUniform(first, 0) || !isUniform(last, 0)) {
      return;
    }
    KernelExpression test = counted.neverWraps() ? null : inNumbers(counted.doesNotWrap());
    if (test == null && !counted.neverWraps()) {
      return;
    }
    Variable stand = new Variable(firstId + axes.size(), ValueType.INT);
    KernelExpression start = Affine.wide(first);
    axes.add(
        counted.step() > 0
            ? new Axis(stand, start, last, test)
            : new Axis(stand, last, start, test));
    forget(loop.body());
    known.put(counted.variable(), new KernelExpression.Read(stand));
    loops++;
    visit(loop.body());
    loops--;
  }

  private void note(Statement access, KernelArray array, KernelExpression index) {
    KernelExpression inNumbers = index.type() == ValueType.INT ? inNumbers(index) : null;
    if (inNumbers == null) {
      return;
    }
    Bounds bounds = bounds(inNumbers, 0);
    if (bounds == null) {
      return;
    }
    understood.add(access);
    hasUnderstoodLoop |= loops > 0;
    for (Axis axis : axes) {
      if (axis.test() != null && Walk.reads(inNumbers, axis.variable())) {
        tests.add(axis.test());
      }
    }
    if (bounds.products().size() > 1) {
      for (KernelExpression product : bounds.products()) {
        tests.add(Tests.isAtLeast(product, Integer.MIN_VALUE));
        tests.add(Tests.isAtMost(product, Integer.MAX_VALUE));
      }
    }
    bounds.least().forEach(least -> tests.add(Tests.isNotNegative(least)));
    bounds.greatest().forEach(greatest -> tests.add(Tests.isBelow(greatest, array)));
  }

  /**
   * Returns a value by the numbers of the item and of the loops around it; null if it depends on
   * something else that items have of their own.
   */
  private @Nullable KernelExpression inNumbers(KernelExpression value) {
    if (value.type().isFloating()) {
      return null;
    }
    KernelExpression replaced =
        Rewriter.rewrite(
            value,
            part ->
                switch (part) {
                  case KernelExpression.Read(Variable variable) ->
                      known.getOrDefault(variable, part);
                  case ItemNumber(ItemNumber.Kind kind, int dimension)
                      when kind == ItemNumber.Kind.GLOBAL_ID ->
                      new KernelExpression.Convert(
                          Conversion.I2L,
                          new KernelExpression.Read(axes.get(dimension).variable()));
                  default -> part;
                });
    return !Walk.isLarger(replaced, LONGEST_INDEX) && isOfNumbers(replaced) ? replaced : null;
  }

  private boolean isOfNumbers(KernelExpression expression) {
    return !Walk.any(
        expression,
        part ->
            (part instanceof KernelExpression.Read(Variable variable) && variable.id() < firstId)
                || (part instanceof ItemNumber number
                    && number.kind() != ItemNumber.Kind.GLOBAL_SIZE));
  }

  /** Returns whether an expression of numbers has none of those from one on to another. */
  private boolean isUniform(KernelExpression expression, int from, int to) {
    return !Walk.any(
        expression,
        part ->
            part instanceof KernelExpression.Read(Variable variable)
                && variable.id() >= firstId + from
                && variable.id() < firstId + to);
  }

  /** Returns whether an expression of numbers has none of those from one on. */
  private boolean isUniform(KernelExpression expression, int from) {
    return isUniform(expression, from, axes.size());
  }

  /**
   * Values, computed as longs, one of which is the least of an index in the whole range, and one
   * the greatest.
   *
   * @param products what they add up that may be more than an int
   */
  private record Bounds(
      Set<KernelExpression> least,
      Set<KernelExpression> greatest,
      List<KernelExpression> products) {}

  /** Returns the bounds of an index that has no numbers in front of one; null if it is not even. */
  private @Nullable Bounds bounds(KernelExpression index, int from) {
    if (from == axes.size()) {
      Set<KernelExpression> itself = Set.of(Affine.wide(index));
      return new Bounds(itself, itself, List.of());
    }
    Axis axis = axes.get(from);
    Affine form =
        Affine.of(
            index,
            Map.of(axis.variable(), Affine.VARIABLE),
            part -> isUniform(part, from, from + 1));
    if (form == null || !isUniform(form.factor(), 0)) {
      return null;
    }
    Bounds rest = bounds(form.offset(), from + 1);
    if (rest == null || form.isConstant()) {
      return rest;
    }
    KernelExpression atLeast = grown(form.factor(), axis.least());
    KernelExpression atGreatest = grown(form.factor(), axis.greatest());
    List<KernelExpression> products = new ArrayList<>(rest.products());
    Stream.of(atLeast, atGreatest).filter(RangeChecks::isProduct).forEach(products::add);
    if (form.isGrowing()) {
      return new Bounds(sums(rest.least(), atLeast), sums(rest.greatest(), atGreatest), products);
    }
    Set<KernelExpression> least = sums(rest.least(), atLeast);
    least.addAll(sums(rest.least(), atGreatest));
    Set<KernelExpression> greatest = sums(rest.greatest(), atLeast);
    greatest.addAll(sums(rest.greatest(), atGreatest));
    return new Bounds(least, greatest, products);
  }

  /** Returns what an axis adds to an index where it has a value; a long. */
  private static KernelExpression grown(KernelExpression factor, KernelExpression value) {
    return value.equals(Constant.of(0L)) ? value : new Affine(factor, Constant.of(0)).at(value);
  }

  private static boolean isProduct(KernelExpression value) {
    return value instanceof KernelExpression.Binary binary
        && binary.operator() == Operator.MULTIPLY;
  }

  private static Set<KernelExpression> sums(Set<KernelExpression> values, KernelExpression added) {
    KernelExpression zero = Constant.of(0L);
    Set<KernelExpression> sums = new LinkedHashSet<>();
    for (KernelExpression value : values) {
      if (value.equals(zero) || added.equals(zero)) {
        sums.add(value.equals(zero) ? added : value);
      } else {
        sums.add(new KernelExpression.Binary(Operator.ADD, value, added));
      }
    }
    return sums;
  }
}
