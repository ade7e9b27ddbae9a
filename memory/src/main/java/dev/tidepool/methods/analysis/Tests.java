package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.Expression;
import dev.tidepool.methods.tree.Expression.Comparison;
import dev.tidepool.methods.tree.Expression.Constant;
import dev.tidepool.methods.tree.Expression.Operator;
import dev.tidepool.methods.tree.KernelArray;
import java.util.Collection;
import java.util.Iterator;

/** Tests of long values that are put in front of others. */
final class Tests {
  private Tests() {}

  static Expression isNotNegative(Expression value) {
    return isAtLeast(value, 0);
  }

  static Expression isAtLeast(Expression value, long least) {
    return new Expression.Compare(Comparison.GREATER_EQUAL, value, Constant.of(least), false);
  }

  static Expression isAtMost(Expression value, long greatest) {
    return new Expression.Compare(Comparison.LESS_EQUAL, value, Constant.of(greatest), false);
  }

  /** Whether an index that is not negative is inside of an array. */
  static Expression isBelow(Expression index, KernelArray array) {
    return new Expression.Compare(
        Comparison.LESS, index, Affine.wide(new Expression.Length(array)), false);
  }

  /** Whether all of at least one test hold. */
  static Expression all(Collection<Expression> tests) {
    Iterator<Expression> each = tests.iterator();
    Expression all = each.next();
    while (each.hasNext()) {
      all = new Expression.Binary(Operator.AND, all, each.next());
    }
    return all;
  }
}
