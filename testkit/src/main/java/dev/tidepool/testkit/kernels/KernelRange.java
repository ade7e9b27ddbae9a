package dev.tidepool.testkit.kernels;

import dev.tidepool.LaunchRange;
import java.util.ArrayList;
import java.util.List;

/** The items of a launch in one to three dimensions. Without a group size, each is a group. */
record KernelRange(LaunchRange launch) {

  /** Returns a range of one dimension without a group size. */
  static KernelRange line(int items) {
    return new KernelRange(LaunchRange.of(items));
  }

  /**
   * Returns a range of random sizes in each dimension.
   *
   * @param groups the number of groups
   * @param groupItems the number of items in a group
   */
  static KernelRange of(Decisions decisions, int dimensions, int groups, int groupItems) {
    return of(decisions, groups, factors(decisions, groupItems, dimensions));
  }

  /** Returns a range of a number of groups, of random sizes in each dimension. */
  static KernelRange of(Decisions decisions, int groups, long[] group) {
    long[] global = factors(decisions, groups, group.length);
    for (int i = 0; i < group.length; i++) {
      global[i] *= group[i];
    }
    return new KernelRange(LaunchRange.of(global).inGroupsOf(group));
  }

  /** Returns random numbers with a product. */
  static long[] factors(Decisions decisions, int product, int count) {
    long[] factors = new long[count];
    int left = product;
    for (int i = 0; i < count - 1; i++) {
      List<Integer> divisors = new ArrayList<>();
      for (int divisor = 1; divisor <= left; divisor++) {
        if (left % divisor == 0) {
          divisors.add(divisor);
        }
      }
      int factor = decisions.pick(divisors);
      factors[i] = factor;
      left /= factor;
    }
    factors[count - 1] = left;
    return factors;
  }

  /** Returns this range without its group size. */
  KernelRange ungrouped() {
    return new KernelRange(new LaunchRange(launch.global(), List.of(), 0));
  }

  int dimensions() {
    return launch.global().size();
  }

  /** Returns the number of items in a dimension; 1 beyond the range's dimensions. */
  int size(int dimension) {
    return dimension < dimensions() ? Math.toIntExact(launch.global().get(dimension)) : 1;
  }

  /** Returns the number of items of a group in a dimension. */
  int groupSize(int dimension) {
    return dimension < launch.group().size() ? Math.toIntExact(launch.group().get(dimension)) : 1;
  }

  /** Returns the number of groups in a dimension. */
  int groups(int dimension) {
    return size(dimension) / groupSize(dimension);
  }

  /** Returns the number of all groups. */
  int groups() {
    return groups(0) * groups(1) * groups(2);
  }

  /** Returns the number of items in a group. */
  int groupItems() {
    return groupSize(0) * groupSize(1) * groupSize(2);
  }

  /** Returns all items. */
  List<RangeItem> items() {
    List<RangeItem> items = new ArrayList<>();
    for (int group = 0; group < groups(); group++) {
      for (int local = 0; local < groupItems(); local++) {
        items.add(new RangeItem(this, group, local));
      }
    }
    return items;
  }
}
