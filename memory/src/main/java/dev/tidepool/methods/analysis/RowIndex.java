package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Binary;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.Walk;
import java.util.HashSet;
import java.util.Set;

/**
 * An index that selects a row by a number of the item and then a place in the row, such as {@code i
 * * columns + c} or {@code 2 * i + 1}. Whether the place is within the row is known only if the
 * place and the length of the row are constants.
 */
final class RowIndex {
  // The products with a number of the item.
  private final Set<Binary> starts = new HashSet<>();
  private boolean isRow = true;
  private boolean isConstant = true;
  private long offset;

  private RowIndex() {}

  /** Returns whether two indices are in the row of one item. */
  static boolean areOfOneRow(KernelExpression one, KernelExpression other) {
    RowIndex first = of(one);
    RowIndex second = of(other);
    return first.isRow
        && second.isRow
        && !first.starts.isEmpty()
        && first.starts.equals(second.starts)
        && first.mayMeet(second);
  }

  private static RowIndex of(KernelExpression index) {
    RowIndex row = new RowIndex();
    row.add(index, 1);
    return row;
  }

  private void add(KernelExpression term, int sign) {
    boolean hasItem = Walk.any(term, ItemNumber.class::isInstance);
    switch (term) {
      case Binary(Operator operator, KernelExpression left, KernelExpression right)
          when operator == Operator.ADD || operator == Operator.SUBTRACT -> {
        add(left, sign);
        add(right, operator == Operator.ADD ? sign : -sign);
      }
      case Binary product
          when hasItem
              && sign == 1
              && (product.operator() == Operator.MULTIPLY
                  || product.operator() == Operator.SHIFT_LEFT) ->
          starts.add(product);
      case Constant(_, long bits) -> offset += sign * bits;
      default -> {
        isRow &= !hasItem;
        isConstant = false;
      }
    }
  }

  /**
   * Returns whether both indices may be in one row. Constant offsets that are a whole row apart are
   * in the rows of two items.
   */
  private boolean mayMeet(RowIndex other) {
    if (!isConstant || !other.isConstant || starts.size() != 1) {
      return true;
    }
    long length = length(starts.iterator().next());
    return length == 0 || Math.abs(offset - other.offset) < length;
  }

  /** Returns the length of a row; 0 if it is not constant. */
  private static long length(Binary product) {
    if (product.right() instanceof Constant(_, long bits)) {
      return product.operator() == Operator.MULTIPLY ? Math.abs(bits) : 1L << bits;
    }
    return product.left() instanceof Constant(_, long bits) ? Math.abs(bits) : 0;
  }
}
