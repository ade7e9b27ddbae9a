package dev.tidepool.metal;

import dev.tidepool.LaunchRange;

/** Computes how many groups of items cover a range. */
final class Groups {
  // The most items of one dimension, and the most groups in a row.
  private static final long MOST_ITEMS = 0xffffffffL;
  private static final long ROW = 1 << 20;

  private Groups() {}

  /**
   * Returns the groups, in rows, that cover a number of items. A kernel finds its item by the
   * numbers of row and group, since no dimension of a grid has room for more than 2^32 items.
   */
  static long[] inLine(long items, long group) {
    long groups = Math.addExact(items, group - 1) / group;
    long row = Math.min(groups, ROW);
    return new long[] {row, (groups + row - 1) / row, 1};
  }

  /**
   * Returns the groups in each dimension; the last of a dimension may reach beyond the range.
   *
   * @throws IllegalArgumentException if the device does not support so many
   */
  static long[] of(CompiledKernel kernel, LaunchRange range, long[] group) {
    long[] groups = {1, 1, 1};
    for (int d = 0; d < range.global().size(); d++) {
      long items = Math.addExact(range.global().get(d), group[d] - 1);
      if (items > MOST_ITEMS) {
        throw new IllegalArgumentException(
            "a range of "
                + range.global()
                + " has more than "
                + MOST_ITEMS
                + " items in dimension "
                + d
                + ", the most that "
                + kernel.device().name()
                + " runs; launch parts");
      }
      groups[d] = items / group[d];
    }
    return groups;
  }
}
