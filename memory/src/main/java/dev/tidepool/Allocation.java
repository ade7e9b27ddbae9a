package dev.tidepool;

import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Options of an allocation. Immutable: each method returns a copy with one option changed.
 *
 * {@snippet :
 * Allocation allocation = Allocation.at(MemoryLocation.DEVICE).zeroed().aligned(4096).tag("counters");
 * UnifiedBuffer<int[]> counters = memory.allocate(ElementType.INT, 1000, allocation);
 * }
 *
 * <p>Defaults: pooled, not cleared, aligned to 64 bytes (to 4 KiB for 64 KiB and more), from any
 * node, without hints, untagged. Large blocks are on huge pages if the system provides them
 * automatically.
 *
 * <p>If a hint ({@link #mostlyRead()}, {@link #mostlyDevice()}, {@link #mostlyHost()}, {@link
 * #mostlyShared()}) has an effect, the block is allocated for the buffer alone and does not come
 * from a pool.
 */
public final class Allocation {
  /** The side that mostly uses the bytes. */
  private enum Use {
    ANY(""),
    DEVICE(", mostly device"),
    HOST(", mostly host"),
    SHARED(", mostly shared");

    final String text;

    Use(String text) {
      this.text = text;
    }
  }

  // Constants, so that the JIT compiler knows the whole allocation if it knows the location.
  private static final Allocation DEVICE = plain(MemoryLocation.DEVICE);
  private static final Allocation HOST = plain(MemoryLocation.HOST);
  private static final Allocation PINNED = plain(MemoryLocation.PINNED);
  private static final Allocation UNIFIED = plain(MemoryLocation.UNIFIED);

  // Bits of {@code flags}.
  private static final int UNPOOLED = 1;
  private static final int ZEROED = 2;
  private static final int HUGE_PAGES = 4;
  private static final int MOSTLY_READ = 8;

  private final MemoryLocation location;
  private final int flags;
  private final long alignment;
  private final OptionalInt node;
  private final Use use;
  private final String tag;
  private final @Nullable Reservation reservation;
  private final boolean plain;

  private Allocation(
      MemoryLocation location,
      int flags,
      long alignment,
      OptionalInt node,
      Use use,
      String tag,
      @Nullable Reservation reservation) {
    this.location = location;
    this.flags = flags;
    this.alignment = alignment;
    this.node = node;
    this.use = use;
    this.tag = tag;
    this.reservation = reservation;
    this.plain =
        flags == 0 && alignment == 0 && node.isEmpty() && use == Use.ANY && reservation == null;
  }

  private static Allocation plain(MemoryLocation location) {
    return new Allocation(location, 0, 0, OptionalInt.empty(), Use.ANY, "", null);
  }

  /** Returns the default options for a location. */
  public static Allocation at(MemoryLocation location) {
    Objects.requireNonNull(location, "location");
    if (location == MemoryLocation.HOST) {
      return HOST;
    }
    if (location == MemoryLocation.DEVICE) {
      return DEVICE;
    }
    return location == MemoryLocation.PINNED ? PINNED : UNIFIED;
  }

  /** Returns a copy whose block is allocated by the driver and freed to it, without a pool. */
  public Allocation unpooled() {
    return with(UNPOOLED);
  }

  /** Returns a copy whose bytes are all zero. */
  public Allocation zeroed() {
    return with(ZEROED);
  }

  /**
   * Returns a copy whose first byte, on the host and on the device, is at a multiple of {@code
   * bytes}.
   *
   * @throws IllegalArgumentException if {@code bytes} is not a power of two, or exceeds 1 GiB
   */
  public Allocation aligned(long bytes) {
    if (bytes <= 0 || Long.bitCount(bytes) != 1 || bytes > 1L << 30) {
      throw new IllegalArgumentException(
          "alignment is " + bytes + "; it must be a power of two from 1 to " + (1L << 30));
    }
    return new Allocation(location, flags, bytes, node, use, tag, reservation);
  }

  /**
   * Returns a copy whose bytes on the host come from a NUMA node while it has room, and otherwise
   * from other nodes.
   *
   * <p>Applies to all buffers of the CPU accelerator, and to HOST and PINNED buffers of an
   * accelerator with memory of its own. Without this option a PINNED buffer is on the accelerator's
   * own node if its driver names one. Page-locked blocks of a node have their own pool; any other
   * block with this option is allocated for the buffer alone and does not come from a pool. If the
   * system has no NUMA policies, or forbids them, the memory comes from any node; {@code tidepool
   * info} reports this.
   *
   * @param node the number of the node, from 0. If it does not exist, the allocation throws an
   *     {@link IllegalArgumentException} that names those that do
   * @throws IllegalArgumentException if {@code node} is negative
   */
  public Allocation onNode(int node) {
    if (node < 0) {
      throw new IllegalArgumentException("NUMA node " + node + " is negative");
    }
    OptionalInt wanted = OptionalInt.of(node);
    return new Allocation(location, flags, alignment, wanted, use, tag, reservation);
  }

  /**
   * Returns a copy whose bytes on the host are on huge pages: those that the administrator has
   * reserved if enough are left, otherwise transparent huge pages as far as the system provides
   * them, otherwise small pages.
   *
   * <p>Applies to all buffers of the CPU accelerator, and to HOST buffers of an accelerator with
   * memory of its own. The driver chooses the pages of page-locked memory. The block does not come
   * from a pool. It takes whole huge pages, at most 2 MiB or an eighth more than requested.
   */
  public Allocation hugePages() {
    return with(HUGE_PAGES);
  }

  /**
   * Returns a copy with the hint that the bytes are read far more often than written. Managed
   * UNIFIED memory then has a copy of each page wherever it is read; a write discards the copies.
   * Elsewhere the hint has no effect.
   */
  public Allocation mostlyRead() {
    return with(MOSTLY_READ);
  }

  /**
   * Returns a copy with the hint that mostly the device uses the bytes. Managed UNIFIED memory then
   * stays on the device while it has room. PINNED memory is write-combined if the driver supports
   * it: host writes bypass the caches, the device reads faster, and the host reads very slowly.
   * Elsewhere the hint has no effect.
   */
  public Allocation mostlyDevice() {
    return mostly(Use.DEVICE);
  }

  /**
   * Returns a copy with the hint that mostly the host uses the bytes. Managed UNIFIED memory then
   * stays in the host's memory; the device accesses it over the bus, and its pages do not move back
   * and forth. Elsewhere the hint has no effect. If it is combined with {@link #mostlyDevice()} or
   * {@link #mostlyShared()}, the last one counts.
   */
  public Allocation mostlyHost() {
    return mostly(Use.HOST);
  }

  /**
   * Returns a copy with the hint that host and device use the bytes at the same time. Both can then
   * access managed UNIFIED memory wherever its pages are, without a page fault. Elsewhere the hint
   * has no effect. If it is combined with {@link #mostlyDevice()} or {@link #mostlyHost()}, the
   * last one counts.
   */
  public Allocation mostlyShared() {
    return mostly(Use.SHARED);
  }

  private Allocation with(int flag) {
    return new Allocation(location, flags | flag, alignment, node, use, tag, reservation);
  }

  private boolean has(int flag) {
    return (flags & flag) != 0;
  }

  private Allocation mostly(Use use) {
    return new Allocation(location, flags, alignment, node, use, tag, reservation);
  }

  /**
   * Returns a copy with a tag, which names the owner of the bytes in statistics, errors and leak
   * reports.
   */
  public Allocation tag(String tag) {
    Objects.requireNonNull(tag, "tag");
    return new Allocation(location, flags, alignment, node, use, tag, reservation);
  }

  /**
   * Returns a copy whose bytes on the device count against a reservation while it is open. The
   * manager that allocates must be the one that {@linkplain UnifiedMemoryManager#reserve created}
   * it.
   */
  public Allocation within(Reservation reservation) {
    Objects.requireNonNull(reservation, "reservation");
    return new Allocation(location, flags, alignment, node, use, tag, reservation);
  }

  /** Returns whether only location and tag differ from the defaults. */
  public boolean isPlain() {
    return plain;
  }

  /** Returns where the memory is allocated first. */
  public MemoryLocation location() {
    return location;
  }

  /** Returns whether the block comes from a pool and returns to it. */
  public boolean isPooled() {
    return !has(UNPOOLED);
  }

  /** Returns whether every byte starts as zero. */
  public boolean isZeroed() {
    return has(ZEROED);
  }

  /** Returns the requested alignment in bytes; 0 for the default. */
  public long alignment() {
    return alignment;
  }

  /** Returns the preferred NUMA node of the host's bytes; empty for any. */
  public OptionalInt node() {
    return node;
  }

  /** Returns whether huge pages are preferred for the host's bytes. */
  public boolean wantsHugePages() {
    return has(HUGE_PAGES);
  }

  /** Returns whether the bytes are hinted to be read far more often than written. */
  public boolean isMostlyRead() {
    return has(MOSTLY_READ);
  }

  /** Returns whether mostly the device uses the bytes. */
  public boolean isMostlyDevice() {
    return use == Use.DEVICE;
  }

  /** Returns whether mostly the host uses the bytes. */
  public boolean isMostlyHost() {
    return use == Use.HOST;
  }

  /** Returns whether host and device use the bytes at the same time. */
  public boolean isMostlyShared() {
    return use == Use.SHARED;
  }

  /** Returns the tag, which names the owner of the bytes; empty if there is none. */
  public String tag() {
    return tag;
  }

  /** Returns the reservation that the bytes on the device count against; empty for none. */
  public Optional<Reservation> reservation() {
    return Optional.ofNullable(reservation);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Allocation that
        && location == that.location
        && flags == that.flags
        && alignment == that.alignment
        && node.equals(that.node)
        && use == that.use
        && tag.equals(that.tag)
        && Objects.equals(reservation, that.reservation);
  }

  @Override
  public int hashCode() {
    return Objects.hash(location, flags, alignment, node, use, tag, reservation);
  }

  @Override
  public String toString() {
    return "Allocation["
        + location
        + (has(UNPOOLED) ? ", unpooled" : "")
        + (has(ZEROED) ? ", zeroed" : "")
        + (alignment == 0 ? "" : ", aligned to " + alignment)
        + (node.isEmpty() ? "" : ", on node " + node.getAsInt())
        + (has(HUGE_PAGES) ? ", huge pages" : "")
        + (has(MOSTLY_READ) ? ", mostly read" : "")
        + use.text
        + (tag.isEmpty() ? "" : ", tag " + tag)
        + (reservation == null ? "" : ", within " + reservation)
        + "]";
  }
}
