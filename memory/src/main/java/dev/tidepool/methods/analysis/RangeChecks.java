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
 * Puts one test of the launch's range in front of a kernel, in place of tests at each access. The
 * test covers accesses that every item makes at an index that is affine in the item's numbers, or
 * in the variable of a counted loop whose bounds are the same for all items: {@code x[i]}, {@code
 * x[2 * i + 1]}, {@code x[row * width + k]}. The test has the same result for all items, so
 * compilers move it out of their loop over the items of a group and vectorise the rest. If the test
 * fails, the kernel runs unchanged, so faults occur at the same places.
 *
 * <p>An index is {@code factor * number + rest} for each of its axes. If the index, computed as a
 * long, is within the array at all corners of the range, it is also within the array between them,
 * and no int of it wraps. The sum of one product of two ints and a few ints is a long. If there are
 * more products, the test requires each product to be an int.
 *
 * <p>Kernels with barriers are left unchanged: they compute more than they load.
 */
public final class RangeChecks {
  private static final int DIMENSIONS = 3;

  /** Kernels with more statements are not duplicated. */
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
   * A value in which an index may be affine: a number of the item, or the variable of a loop.
   *
   * @param variable stands for the value in expressions
   * @param least a lower bound; a long, equal for all items
   * @param greatest an upper bound; a long, equal for all items
   * @param test whether the value is an int between the bounds; null if that is always so
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

  /** Returns a kernel with a test of its range in front, or the unchanged kernel. */
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

  /** Records the accesses that every item makes, and not those that only some items make. */
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
   * Returns a value in terms of the numbers of the item and of the enclosing loops; null if the
   * value depends on other variables or numbers of the item.
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

  /** Returns whether an expression of numbers uses none of the axes in a range. */
  private boolean isUniform(KernelExpression expression, int from, int to) {
    return !Walk.any(
        expression,
        part ->
            part instanceof KernelExpression.Read(Variable variable)
                && variable.id() >= firstId + from
                && variable.id() < firstId + to);
  }

  /** Returns whether an expression of numbers uses none of the axes from an index on. */
  private boolean isUniform(KernelExpression expression, int from) {
    return isUniform(expression, from, axes.size());
  }

  /**
   * Bounds of an index in the whole range, computed as longs. One of {@code least} is the least
   * value of the index, and one of {@code greatest} is the greatest.
   *
   * @param products the summands that may exceed an int
   */
  private record Bounds(
      Set<KernelExpression> least,
      Set<KernelExpression> greatest,
      List<KernelExpression> products) {}

  /**
   * Returns the bounds of an index that uses no axis before one; null if the index is not affine.
   */
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

  /** Returns the summand of an index that an axis with a value contributes; a long. */
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
