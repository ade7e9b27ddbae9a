package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Convert;
import dev.tidepool.methods.tree.KernelExpression.Length;
import org.jspecify.annotations.Nullable;

/**
 * A test whether the item's own index is within an array. Kernels have such tests for ranges that
 * are longer than the array. If the range has the array's length, the test has one value for all
 * items.
 *
 * @param value the condition's value for indices within the array
 */
record LengthGuard(KernelArray.Argument array, boolean value) {

  /** Returns a condition as a guard; null if it is none. */
  static @Nullable LengthGuard of(KernelExpression condition) {
    if (!(condition instanceof Compare compare)) {
      return null;
    }
    KernelArray.Argument array = length(compare.right());
    if (array != null && isOwn(compare.left())) {
      return switch (compare.comparison()) {
        case LESS -> new LengthGuard(array, !compare.negated());
        case GREATER_EQUAL -> new LengthGuard(array, compare.negated());
        default -> null;
      };
    }
    array = length(compare.left());
    if (array != null && isOwn(compare.right())) {
      return switch (compare.comparison()) {
        case GREATER -> new LengthGuard(array, !compare.negated());
        case LESS_EQUAL -> new LengthGuard(array, compare.negated());
        default -> null;
      };
    }
    return null;
  }

  /** Returns the array whose length an expression is; null if the expression is no length. */
  private static KernelArray.@Nullable Argument length(KernelExpression expression) {
    KernelExpression operand =
        expression instanceof Convert(_, KernelExpression converted) ? converted : expression;
    return operand instanceof Length(KernelArray.Argument array) ? array : null;
  }

  private static boolean isOwn(KernelExpression expression) {
    return OwnElements.isOwn(expression) || OwnElements.isOwnNumber(expression);
  }
}
