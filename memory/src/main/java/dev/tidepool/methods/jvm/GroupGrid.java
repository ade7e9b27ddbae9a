package dev.tidepool.methods.jvm;

import dev.tidepool.LaunchRange;
import java.util.function.Consumer;

/**
 * The groups of a range, numbered with dimension 0 fastest. If no group size was requested, each
 * item is a group.
 */
public final class GroupGrid {
  /** Generated loops count the items of dimension 0 with an int. */
  private static final long MOST_IN_ROW = 1 << 30;

  private final long[] global = {1, 1, 1};
  private final long[] group = {1, 1, 1};
  private final long[] groups = {1, 1, 1};

  /** Creates the groups of a range. */
  public GroupGrid(LaunchRange range) {
    for (int i = 0; i < range.global().size(); i++) {
      global[i] = range.global().get(i);
      group[i] = range.group().isEmpty() ? 1 : range.group().get(i);
      groups[i] = global[i] / group[i];
    }
  }

  /** Returns the number of groups. */
  public long groups() {
    return groups[0] * groups[1] * groups[2];
  }

  /** Returns the number of items in a group. */
  public long groupItems() {
    return group[0] * group[1] * group[2];
  }

  /** Returns the number of items of the range along a dimension. */
  public long globalSize(int dimension) {
    return global[dimension];
  }

  /** Returns the number of items of a group along a dimension. */
  public long groupSize(int dimension) {
    return group[dimension];
  }

  /** Returns the position of a group along a dimension. */
  public long groupId(long number, int dimension) {
    return switch (dimension) {
      case 0 -> number % groups[0];
      case 1 -> number / groups[0] % groups[1];
      default -> number / groups[0] / groups[1];
    };
  }

  /** Visits each of some groups as a box. All calls get the same array. */
  void forEachGroup(long from, long to, Consumer<long[]> visitor) {
    long[] box = box();
    for (long at = from; at < to; at++) {
      for (int i = 0; i < groups.length; i++) {
        set(box, i, groupId(at, i), 1);
      }
      visitor.accept(box);
    }
  }

  /** Visits the items of some groups in as few boxes as possible. All calls get the same array. */
  void forEachBox(long from, long to, Consumer<long[]> visitor) {
    long[] box = box();
    long mostGroups = Math.max(1, MOST_IN_ROW / group[0]);
    long at = from;
    while (at < to) {
      long x = groupId(at, 0);
      long y = groupId(at, 1);
      boolean wholeRows = x == 0 && to - at >= groups[0] && groups[0] <= mostGroups;
      long columns = wholeRows ? groups[0] : Math.min(Math.min(groups[0] - x, to - at), mostGroups);
      long rows = wholeRows ? Math.min((to - at) / groups[0], groups[1] - y) : 1;
      set(box, 0, x, columns);
      set(box, 1, y, rows);
      set(box, 2, groupId(at, 2), 1);
      visitor.accept(box);
      at += columns * rows;
    }
  }

  private long[] box() {
    long[] box = new long[Box.LENGTH];
    System.arraycopy(global, 0, box, Box.GLOBAL_SIZE, global.length);
    System.arraycopy(group, 0, box, Box.GROUP_SIZE, group.length);
    return box;
  }

  private void set(long[] box, int dimension, long first, long count) {
    box[Box.FROM + dimension] = first * group[dimension];
    box[Box.TO + dimension] = (first + count) * group[dimension];
    box[Box.GROUP + dimension] = first;
  }
}
