package dev.tidepool.spi.support;

import dev.tidepool.LaunchRange;
import java.util.List;

/**
 * The items of a group in three dimensions, for one kernel on one device.
 *
 * @param kernel its name, for messages
 * @param device its name, for messages
 * @param maxItems the most in all
 * @param maxEach the most in each dimension
 */
public record GroupSizes(String kernel, String device, long maxItems, List<Long> maxEach) {
  /** Copies the list. */
  public GroupSizes {
    maxEach = List.copyOf(maxEach);
  }

  /** Returns the same for a kernel that its user knows by another name than the driver does. */
  public GroupSizes named(String kernel) {
    return new GroupSizes(kernel, device, maxItems, maxEach);
  }

  /**
   * Returns the group that a range asks for.
   *
   * @throws IllegalArgumentException if it is too large
   */
  public long[] asked(LaunchRange range) {
    long[] group = {1, 1, 1};
    long items = 1;
    boolean tooLong = false;
    for (int d = 0; d < range.group().size(); d++) {
      group[d] = range.group().get(d);
      items = Math.multiplyExact(items, group[d]);
      tooLong |= group[d] > maxEach.get(d);
    }
    if (tooLong || items > maxItems) {
      throw new IllegalArgumentException(
          "groups of "
              + range.group()
              + " are too large for kernel '"
              + kernel
              + "' on "
              + device
              + ": at most "
              + maxItems
              + " items in all and "
              + maxEach
              + " in each dimension");
    }
    return group;
  }

  /**
   * Returns a group that covers a range together with others, which may reach beyond it.
   *
   * @param wanted items; there are at most so many
   */
  public long[] covering(LaunchRange range, long wanted) {
    long[] group = {1, 1, 1};
    long left = Long.highestOneBit(Math.min(wanted, maxItems));
    for (int d = 0; d < range.global().size(); d++) {
      long needed = Long.highestOneBit(2 * range.global().get(d) - 1);
      group[d] = Math.min(Math.min(left, needed), Long.highestOneBit(maxEach.get(d)));
      left /= group[d];
    }
    return group;
  }

  /**
   * Returns a group that divides a range, so that there is no item beyond it.
   *
   * @param wanted items; larger groups gain little
   * @param least items, where a larger group is available: a smaller one leaves a part of the
   *     device idle
   */
  public long[] dividing(LaunchRange range, long wanted, long least) {
    long[] group = {1, 1, 1};
    long items = 1;
    for (int d = 0; d < range.global().size(); d++) {
      long size = range.global().get(d);
      long good = divisor(size, Math.min(Math.min(wanted, maxItems) / items, maxEach.get(d)));
      group[d] =
          items * good >= least ? good : divisor(size, Math.min(maxItems / items, maxEach.get(d)));
      items *= group[d];
    }
    return group;
  }

  private static long divisor(long size, long most) {
    long divisor = Math.max(1, Math.min(size, most));
    while (size % divisor != 0) {
      divisor--;
    }
    return divisor;
  }
}
