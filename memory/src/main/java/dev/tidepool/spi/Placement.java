package dev.tidepool.spi;

import dev.tidepool.Allocation;
import java.util.OptionalInt;

/**
 * Which of the host's memory a block shall be made of. A wish: what the system lacks becomes the
 * next simpler memory.
 *
 * @param node the NUMA node whose memory is preferred; it exists
 * @param hugePages whether it shall be made of the largest pages there are
 */
public record Placement(OptionalInt node, boolean hugePages) {
  /** Any memory. */
  public static final Placement ANYWHERE = new Placement(OptionalInt.empty(), false);

  /** What an allocation says of it. */
  public static Placement of(Allocation allocation) {
    return allocation.node().isEmpty() && !allocation.wantsHugePages()
        ? ANYWHERE
        : new Placement(allocation.node(), allocation.wantsHugePages());
  }

  /** Whether any memory will do. */
  public boolean isAnywhere() {
    return node.isEmpty() && !hugePages;
  }
}
