package dev.tidepool;

import java.util.ArrayList;
import java.util.List;

/**
 * The number of work items that a method or a hand-written kernel runs, and their groups.
 *
 * {@snippet :
 * LaunchRange line = LaunchRange.of(1_000_000);
 * LaunchRange image = LaunchRange.of(1920, 1080).inGroupsOf(16, 8).withLocalMemory(4096);
 * }
 *
 * @param global the number of items in each of one to three dimensions, at least 0
 * @param group the number of items of one group in each dimension, which must divide the global
 *     size. If it is empty, each item of a Java kernel is a group of its own; for other kernels the
 *     library or the driver chooses the size
 * @param localBytes bytes of local memory that a group shares; 0 for none
 */
public record LaunchRange(List<Long> global, List<Long> group, long localBytes) {
  /**
   * Checks that the numbers are consistent.
   *
   * @throws IllegalArgumentException if a number is out of its range, or the groups do not divide
   *     the range
   */
  public LaunchRange {
    global = List.copyOf(global);
    group = List.copyOf(group);
    if (global.isEmpty() || global.size() > 3) {
      throw new IllegalArgumentException(
          "a range has one to three dimensions, not " + global.size());
    }
    for (long size : global) {
      if (size < 0) {
        throw new IllegalArgumentException("a range of " + global + " has a negative size");
      }
    }
    if (!isCountable(global)) {
      throw new IllegalArgumentException(
          "a range of " + global + " has more items than " + Long.MAX_VALUE + "; launch parts");
    }
    if (!group.isEmpty()) {
      if (group.size() != global.size()) {
        throw new IllegalArgumentException(
            "groups of " + group + " do not have the dimensions of the range " + global);
      }
      for (int i = 0; i < group.size(); i++) {
        if (group.get(i) <= 0 || global.get(i) % group.get(i) != 0) {
          throw new IllegalArgumentException(
              "groups of " + group + " do not divide the range " + global + "; pad the range");
        }
      }
    }
    if (localBytes < 0) {
      throw new IllegalArgumentException("local memory of " + localBytes + " bytes is negative");
    }
  }

  /** Returns a range of one to three dimensions, without a size of groups. */
  public static LaunchRange of(long... global) {
    return new LaunchRange(boxed(global), List.of(), 0);
  }

  /** Returns this range in groups of the given size. */
  public LaunchRange inGroupsOf(long... group) {
    return new LaunchRange(global, boxed(group), localBytes);
  }

  /**
   * Returns this range with local memory for each group, in bytes. Kernels receive it after their
   * parameters.
   */
  public LaunchRange withLocalMemory(long bytes) {
    return new LaunchRange(global, group, bytes);
  }

  /** Returns the number of all items. */
  public long items() {
    // The constructor checked that the product of the sizes above 0 fits.
    long items = 1;
    for (int i = 0; i < global.size(); i++) {
      items *= global.get(i);
    }
    return items;
  }

  private static boolean isCountable(List<Long> global) {
    if (global.contains(0L)) {
      return true;
    }
    long room = Long.MAX_VALUE;
    for (long size : global) {
      room /= size;
    }
    return room > 0;
  }

  private static List<Long> boxed(long[] sizes) {
    List<Long> boxed = new ArrayList<>(sizes.length);
    for (long size : sizes) {
      boxed.add(size);
    }
    return boxed;
  }
}
