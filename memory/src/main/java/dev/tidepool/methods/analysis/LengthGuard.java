package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Convert;
import dev.tidepool.methods.tree.KernelExpression.Length;
import org.jspecify.annotations.Nullable;

/**
 * A test whether the item's own index is inside of an array, as kernels have it for ranges that are
 * longer than the array. One value holds for all items if the range has the array's length.
 *
 * @param value the condition's value for indices that are inside
 */
record LengthGuard(KernelArray.Argument array, boolean value) {

  /** The guard that a condition is; null if it is none. */
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

  /** The array whose length an expression is; null if it is none. */
  private static KernelArray.@Nullable Argument length(KernelExpression expression) {
    KernelExpression operand =
        expression instanceof Convert(_, KernelExpression converted) ? converted : expression;
    return operand instanceof Length(KernelArray.Argument array) ? array : null;
  }

  private static boolean isOwn(KernelExpression expression) {
    return OwnElements.isOwn(expression) || OwnElements.isOwnNumber(expression);
  }
}
