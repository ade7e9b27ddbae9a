package dev.tidepool.spi;

import dev.tidepool.Allocation;
import dev.tidepool.MemoryLocation;
import java.util.OptionalInt;

/**
 * The preferred memory for a block. If the system or the driver does not provide it, the block has
 * the next simpler memory.
 *
 * @param node the preferred NUMA node, which must exist; empty for any
 * @param hugePages whether the largest pages are preferred
 * @param mostlyRead for managed memory: whether each reader gets its own copy
 * @param mostlyDevice for managed memory: whether it stays on the device; for pinned memory:
 *     whether it is write-combined
 * @param mostlyHost for managed memory: whether it stays in the host's memory
 * @param mostlyShared for managed memory: whether host and device can both access it wherever it is
 */
public record Placement(
    OptionalInt node,
    boolean hugePages,
    boolean mostlyRead,
    boolean mostlyDevice,
    boolean mostlyHost,
    boolean mostlyShared) {
  /** The placement without a preference. */
  public static final Placement ANYWHERE = new Placement(OptionalInt.empty(), false);

  /** Creates a placement that prefers only a node and large pages. */
  public Placement(OptionalInt node, boolean hugePages) {
    this(node, hugePages, false, false);
  }

  /** Creates a placement that prefers neither the host nor sharing. */
  public Placement(OptionalInt node, boolean hugePages, boolean mostlyRead, boolean mostlyDevice) {
    this(node, hugePages, mostlyRead, mostlyDevice, false, false);
  }

  /** Returns the placement of an allocation. Hints count only if its location supports them. */
  public static Placement of(Allocation allocation) {
    boolean unified = allocation.location() == MemoryLocation.UNIFIED;
    boolean hinted = unified || allocation.location() == MemoryLocation.PINNED;
    Placement placement =
        new Placement(
            allocation.node(),
            allocation.wantsHugePages(),
            unified && allocation.isMostlyRead(),
            hinted && allocation.isMostlyDevice(),
            unified && allocation.isMostlyHost(),
            unified && allocation.isMostlyShared());
    return placement.isAnywhere() ? ANYWHERE : placement;
  }

  /** Returns whether only a node is preferred. */
  public boolean isOnlyNode() {
    return node.isPresent() && !hugePages && !isHinted();
  }

  /** Returns whether there is no preference. */
  public boolean isAnywhere() {
    return node.isEmpty() && !hugePages && !isHinted();
  }

  private boolean isHinted() {
    return mostlyRead || mostlyDevice || mostlyHost || mostlyShared;
  }
}
