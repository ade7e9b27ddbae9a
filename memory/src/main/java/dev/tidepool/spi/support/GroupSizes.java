package dev.tidepool.spi.support;

import dev.tidepool.LaunchRange;
import java.util.List;

/**
 * Chooses the size of a group in three dimensions, for one kernel on one device.
 *
 * @param kernel the name of the kernel in messages
 * @param device the name of the device in messages
 * @param maxItems the most items of a group
 * @param maxEach the most items of a group in each dimension
 */
public record GroupSizes(String kernel, String device, long maxItems, List<Long> maxEach) {
  /** Copies the list. */
  public GroupSizes {
    maxEach = List.copyOf(maxEach);
  }

  /** Returns these sizes with another name of the kernel, by which its user knows it. */
  public GroupSizes named(String kernel) {
    return new GroupSizes(kernel, device, maxItems, maxEach);
  }

  /**
   * Returns the group that a range requests, 1 in dimensions without a request.
   *
   * @throws IllegalArgumentException if the group is too large
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
   * Returns a group for covering a range. The last groups may extend beyond the range.
   *
   * @param wanted the most items of the group
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
   * Returns a group that divides a range, so that no item is beyond it.
   *
   * @param wanted the wanted items; larger groups gain little
   * @param least the least items, if possible even beyond {@code wanted}: a smaller group leaves a
   *     part of the device idle
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
