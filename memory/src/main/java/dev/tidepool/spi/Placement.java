package dev.tidepool.spi;

import dev.tidepool.Allocation;
import dev.tidepool.MemoryLocation;
import java.util.OptionalInt;

/**
 * Which memory a block shall be made of. A wish: what the system or the driver lacks becomes the
 * next simpler memory.
 *
 * @param node the NUMA node whose memory is preferred; it exists
 * @param hugePages whether it shall be made of the largest pages there are
 * @param mostlyRead of managed memory: whether each reader shall have a copy of its own
 * @param mostlyDevice of managed memory: whether it shall stay on the device; of pinned memory:
 *     whether the host's writes shall be combined and go past its caches
 * @param mostlyHost of managed memory: whether it shall stay in the host's memory
 * @param mostlyShared of managed memory: whether host and device shall reach it wherever it is
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

  /** A wish about pages alone. */
  public Placement(OptionalInt node, boolean hugePages) {
    this(node, hugePages, false, false);
  }

  /** A wish without those of hosts. */
  public Placement(OptionalInt node, boolean hugePages, boolean mostlyRead, boolean mostlyDevice) {
    this(node, hugePages, mostlyRead, mostlyDevice, false, false);
  }

  /** What an allocation says of it; hints count where its location has a use for them. */
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

  /** Whether it wishes for a node, and for nothing else. */
  public boolean isOnlyNode() {
    return node.isPresent() && !hugePages && !isHinted();
  }

  /** Whether any memory will do. */
  public boolean isAnywhere() {
    return node.isEmpty() && !hugePages && !isHinted();
  }

  private boolean isHinted() {
    return mostlyRead || mostlyDevice || mostlyHost || mostlyShared;
  }
}
