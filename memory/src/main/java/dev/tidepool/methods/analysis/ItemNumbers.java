package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Convert;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Atomic;
import dev.tidepool.methods.tree.Statement.Barrier;
import dev.tidepool.methods.tree.Statement.Load;
import dev.tidepool.methods.tree.Statement.Store;
import dev.tidepool.methods.tree.Walk;
import java.util.HashSet;
import java.util.Set;

/** Records which item numbers a kernel uses, and whether it uses groups. */
public final class ItemNumbers {
  private final Set<Integer> ints = new HashSet<>();
  private int dimensions;
  private boolean usesGroups;

  private ItemNumbers() {}

  /** Returns the numbers that a kernel uses. */
  public static ItemNumbers of(KernelTree tree) {
    ItemNumbers numbers = new ItemNumbers();
    Walk.statements(tree.body(), numbers::record);
    return numbers;
  }

  private void record(Statement statement) {
    usesGroups |=
        switch (statement) {
          case Barrier _ -> true;
          case Load load -> load.array() instanceof KernelArray.Shared;
          case Store store -> store.array() instanceof KernelArray.Shared;
          case Atomic atomic -> atomic.array() instanceof KernelArray.Shared;
          default -> false;
        };
    Walk.expressions(statement).forEach(expression -> Walk.expressions(expression, this::record));
  }

  private void record(KernelExpression expression) {
    if (expression instanceof ItemNumber number) {
      dimensions = Math.max(dimensions, number.dimension() + 1);
    }
    switch (expression) {
      case Convert(Conversion conversion, ItemNumber number)
          when conversion == Conversion.L2I && number.kind() == ItemNumber.Kind.GLOBAL_ID ->
          ints.add(number.dimension());
      case ItemNumber number
          when number.kind() != ItemNumber.Kind.GLOBAL_ID
              && number.kind() != ItemNumber.Kind.GLOBAL_SIZE ->
          usesGroups = true;
      default -> {
        // No number of an item.
      }
    }
  }

  /** Returns whether the item's index in a dimension is cast to an int. */
  public boolean isInt(int dimension) {
    return ints.contains(dimension);
  }

  /**
   * Returns how many dimensions the kernel uses numbers of, from the first on; 0 if it uses none.
   */
  public int dimensions() {
    return dimensions;
  }

  /** Returns whether the kernel uses groups: their memory, their barriers or their numbers. */
  public boolean usesGroups() {
    return usesGroups;
  }
}
