package dev.tidepool.cuda;

import dev.tidepool.LaunchRange;
import java.util.List;

/** How many blocks of threads cover a range. */
final class Grids {
  private Grids() {}

  /**
   * The blocks in each dimension; the last of a dimension may reach beyond the range.
   *
   * @throws IllegalArgumentException if the device does not run so many
   */
  static int[] of(LoadedKernel kernel, LaunchRange range, int[] block) {
    List<Integer> most = kernel.device().properties().maxGrid();
    int[] grid = {1, 1, 1};
    for (int d = 0; d < range.global().size(); d++) {
      long blocks = Math.addExact(range.global().get(d), block[d] - 1L) / block[d];
      if (blocks > most.get(d)) {
        throw new IllegalArgumentException(
            "a range of "
                + range.global()
                + " has "
                + blocks
                + " groups in dimension "
                + d
                + "; "
                + kernel.device().name()
                + " runs at most "
                + most.get(d)
                + ". Use larger groups, or launch parts");
      }
      grid[d] = (int) blocks;
    }
    return grid;
  }

  /** The error about groups that the device or the kernel does not allow. */
  static IllegalArgumentException tooLarge(LoadedKernel kernel, LaunchRange range) {
    return new IllegalArgumentException(
        "groups of "
            + range.group()
            + " are too large for kernel '"
            + kernel.entry()
            + "' on "
            + kernel.device().name()
            + ": at most "
            + kernel.maxThreads()
            + " items in all and "
            + kernel.device().properties().maxBlock()
            + " in each dimension");
  }
}
