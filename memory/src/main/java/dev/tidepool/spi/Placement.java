package dev.tidepool.spi;

import dev.tidepool.Allocation;
import dev.tidepool.MemoryLocation;
import java.util.OptionalInt;

/**
 * The memory that is preferred for a block. Where the system or the driver lacks it, the block has
 * the next simpler memory.
 *
 * @param node the NUMA node whose memory is preferred; it exists
 * @param hugePages whether the largest pages are preferred
 * @param mostlyRead of managed memory: whether each reader gets a copy of its own
 * @param mostlyDevice of managed memory: whether it stays on the device; of pinned memory: whether
 *     the host's writes are combined and bypass its caches
 * @param mostlyHost of managed memory: whether it stays in the host's memory
 * @param mostlyShared of managed memory: whether host and device both reach it wherever it is
 */
public record Placement(
    OptionalInt node,
    boolean hugePages,
    boolean mostlyRead,
    boolean mostlyDevice,
    boolean mostlyHost,
    boolean mostlyShared) {
  /** Any memory. */
  public static final Placement ANYWHERE = new Placement(OptionalInt.empty(), false);

  /** Creates a preference for a node and for pages alone. */
  public Placement(OptionalInt node, boolean hugePages) {
    this(node, hugePages, false, false);
  }

  /** Creates a placement that prefers neither the host nor sharing. */
  public Placement(OptionalInt node, boolean hugePages, boolean mostlyRead, boolean mostlyDevice) {
    this(node, hugePages, mostlyRead, mostlyDevice, false, false);
  }

  /** Returns what an allocation says of it; hints count where its location has a use for them. */
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

  /** Returns whether it wishes for a node, and for nothing else. */
  public boolean isOnlyNode() {
    return node.isPresent() && !hugePages && !isHinted();
  }

  /** Returns whether any memory will do. */
  public boolean isAnywhere() {
    return node.isEmpty() && !hugePages && !isHinted();
  }

  private boolean isHinted() {
    return mostlyRead || mostlyDevice || mostlyHost || mostlyShared;
  }
}
