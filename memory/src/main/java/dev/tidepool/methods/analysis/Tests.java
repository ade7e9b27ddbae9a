package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import java.util.Collection;
import java.util.List;

/** Builds tests of long values. */
final class Tests {
  private Tests() {}

  static KernelExpression isNotNegative(KernelExpression value) {
    return isAtLeast(value, 0);
  }

  static KernelExpression isAtLeast(KernelExpression value, long least) {
    return new KernelExpression.Compare(Comparison.GREATER_EQUAL, value, Constant.of(least), false);
  }

  static KernelExpression isAtMost(KernelExpression value, long greatest) {
    return new KernelExpression.Compare(Comparison.LESS_EQUAL, value, Constant.of(greatest), false);
  }

  /** Returns a test that an index that is not negative is within an array. */
  static KernelExpression isBelow(KernelExpression index, KernelArray array) {
    return new KernelExpression.Compare(
        Comparison.LESS, index, Affine.wide(new KernelExpression.Length(array)), false);
  }

  /**
   * Returns a test that all of at least one test hold. The tests are joined in halves: the
   * compilers of drivers refuse parentheses that nest a few hundred times.
   */
  static KernelExpression all(Collection<KernelExpression> tests) {
    return joined(List.copyOf(tests));
  }

  private static KernelExpression joined(List<KernelExpression> tests) {
    int half = tests.size() / 2;
    return half == 0
        ? tests.getFirst()
        : new KernelExpression.Binary(
            Operator.AND,
            joined(tests.subList(0, half)),
            joined(tests.subList(half, tests.size())));
  }
}
