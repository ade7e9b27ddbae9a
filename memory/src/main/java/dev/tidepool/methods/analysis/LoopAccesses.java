package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The loads and stores of a counted loop at indices that are affine in its variable. */
final class LoopAccesses {
  /** Longer factors and offsets are not followed: each can contain the one before it twice. */
  private static final int LONGEST_INDEX = 50;

  private final CountedLoop counted;
  private final IdentityHashMap<Statement, Access> understood = new IdentityHashMap<>();
  private final Set<Range> ranges = new LinkedHashSet<>();
  private int statements;

  /**
   * The index of an access.
   *
   * @param form the index in terms of the variable's value at the start of the round
   * @param isBeforeStep whether the variable still has that value at the access
   */
  private record Access(Affine form, boolean isBeforeStep) {}

  /** An index that must be within an array. */
  private record Range(KernelArray array, Affine form) {}

  private LoopAccesses(CountedLoop counted) {
    this.counted = counted;
  }

  static LoopAccesses of(CountedLoop counted) {
    LoopAccesses accesses = new LoopAccesses(counted);
    Map<Variable, Affine> known = new HashMap<>();
    known.put(counted.variable(), Affine.VARIABLE);
    accesses.visit(counted.loop().body(), known);
    return accesses;
  }

  private void visit(List<Statement> list, Map<Variable, Affine> known) {
    for (Statement statement : list) {
      statements++;
      switch (statement) {
        case Statement.Load load when load.site() != null ->
            note(load, load.array(), load.index(), known);
        case Statement.Store store when store.site() != null ->
            note(store, store.array(), store.index(), known);
        default -> {}
      }
      for (List<Statement> part : Walk.parts(statement)) {
        visit(part, new HashMap<>(known));
      }
      Affine form =
          statement instanceof Statement.Assign assign ? form(assign.value(), known) : null;
      Walk.statements(List.of(statement), part -> known.remove(Walk.target(part)));
      if (statement instanceof Statement.Assign assign && form != null) {
        known.put(assign.target(), form);
      }
    }
  }

  private @Nullable Affine form(KernelExpression value, Map<Variable, Affine> known) {
    Affine form = value.type().isFloating() ? null : Affine.of(value, known, counted::isInvariant);
    return form == null
            || Walk.isLarger(form.factor(), LONGEST_INDEX)
            || Walk.isLarger(form.offset(), LONGEST_INDEX)
        ? null
        : form;
  }

  private void note(
      Statement access, KernelArray array, KernelExpression index, Map<Variable, Affine> known) {
    Affine form = index.type() == ValueType.INT ? form(index, known) : null;
    if (form != null) {
      boolean isBeforeStep =
          Affine.VARIABLE.equals(known.get(counted.variable())) && !understood.containsKey(access);
      understood.put(access, new Access(form, isBeforeStep));
      ranges.add(new Range(array, form));
    }
  }

  boolean isEmpty() {
    return understood.isEmpty();
  }

  /** Returns how many statements the loop has. */
  int statements() {
    return statements;
  }

  boolean isUnderstood(Statement access) {
    return understood.containsKey(access);
  }

  /** Returns the index of an access as a long; null if it cannot be computed at the access. */
  @Nullable KernelExpression longIndex(Statement access) {
    Access found = understood.get(access);
    return found == null || !found.isBeforeStep()
        ? null
        : found.form().at(Affine.wide(new KernelExpression.Read(counted.variable())));
  }

  /** Returns a test that all these accesses are within their arrays in every round. */
  KernelExpression test() {
    KernelExpression first = Affine.wide(new KernelExpression.Read(counted.variable()));
    Set<KernelExpression> tests = new LinkedHashSet<>();
    if (!counted.neverWraps()) {
      tests.add(counted.doesNotWrap());
    }
    for (Range range : ranges) {
      KernelExpression atFirst = range.form().at(first);
      KernelExpression atLast = range.form().at(counted.last());
      boolean isKnown = range.form().isGrowing();
      boolean isUp = counted.step() > 0;
      if (!isKnown || isUp) {
        tests.add(Tests.isNotNegative(atFirst));
        tests.add(Tests.isBelow(atLast, range.array()));
      }
      if (!isKnown || !isUp) {
        tests.add(Tests.isNotNegative(atLast));
        tests.add(Tests.isBelow(atFirst, range.array()));
      }
    }
    return Tests.all(tests);
  }
}
