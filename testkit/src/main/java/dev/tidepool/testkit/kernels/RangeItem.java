package dev.tidepool.testkit.kernels;

import dev.tidepool.WorkItem;
import java.lang.foreign.MemorySegment;

/** An item of a range, for a call of a kernel's method as plain Java. */
class RangeItem implements WorkItem {
  private final KernelRange range;
  private final int group;
  private final int local;

  /**
   * Creates an item.
   *
   * @param group the number of its group in the range, counted along dimension 0 first
   * @param local the number of the item in its group, counted in the same way
   */
  RangeItem(KernelRange range, int group, int local) {
    this.range = range;
    this.group = group;
    this.local = local;
  }

  @Override
  public long globalId(int dimension) {
    return groupId(dimension) * range.groupSize(dimension) + localId(dimension);
  }

  @Override
  public long localId(int dimension) {
    int first = range.groupSize(0);
    return switch (dimension) {
      case 0 -> local % first;
      case 1 -> local / first % range.groupSize(1);
      default -> local / first / range.groupSize(1);
    };
  }

  @Override
  public long groupId(int dimension) {
    int first = range.groups(0);
    return switch (dimension) {
      case 0 -> group % first;
      case 1 -> group / first % range.groups(1);
      default -> group / first / range.groups(1);
    };
  }

  @Override
  public long globalSize(int dimension) {
    return range.size(dimension);
  }

  @Override
  public long groupSize(int dimension) {
    return range.groupSize(dimension);
  }

  @Override
  public MemorySegment array(int index) {
    throw new UnsupportedOperationException("arrays are parameters of the method");
  }

  @Override
  public double scalar(int index) {
    throw new UnsupportedOperationException("scalars are parameters of the method");
  }

  @Override
  public long integer(int index) {
    throw new UnsupportedOperationException("scalars are parameters of the method");
  }

  @Override
  public MemorySegment localMemory() {
    throw new UnsupportedOperationException("memory of the group is an array");
  }
}
