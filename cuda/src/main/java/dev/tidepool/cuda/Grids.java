package dev.tidepool.cuda;

import dev.tidepool.LaunchRange;
import java.util.List;

/** Computes how many blocks of threads cover a range. */
final class Grids {
  private Grids() {}

  /**
   * Returns the number of blocks in each dimension; the last of a dimension may reach beyond the
   * range.
   *
   * @throws IllegalArgumentException if the device does not support so many
   */
  static long[] of(LoadedKernel kernel, LaunchRange range, long[] block) {
    List<Long> most = kernel.device().properties().maxGrid();
    long[] grid = {1, 1, 1};
    for (int d = 0; d < range.global().size(); d++) {
      long blocks = Math.addExact(range.global().get(d), block[d] - 1) / block[d];
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
      grid[d] = blocks;
    }
    return grid;
  }
}
