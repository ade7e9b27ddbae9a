package dev.tidepool;

import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * How to allocate. Immutable; each method returns a copy with one option changed.
 *
 * {@snippet :
 * Allocation allocation = Allocation.at(MemoryLocation.DEVICE).zeroed().aligned(4096).tag("counters");
 * UnifiedBuffer<int[]> counters = memory.allocate(ElementType.INT, 1000, allocation);
 * }
 *
 * <p>Defaults: pooled, not cleared, aligned to 64 bytes (4 KiB from 64 KiB up), from any node,
 * without hints, untagged. Large blocks are on huge pages where the system provides them by itself.
 *
 * <p>A block with a hint ({@link #mostlyRead()}, {@link #mostlyDevice()}, {@link #mostlyHost()},
 * {@link #mostlyShared()}) that has an effect is allocated for the buffer alone and does not come
 * from a pool.
 */
public final class Allocation {
  /** Which side uses the bytes. */
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

  // Constants: a compiler that knows the location knows the allocation too.
  private static final Allocation DEVICE = plain(MemoryLocation.DEVICE);
  private static final Allocation HOST = plain(MemoryLocation.HOST);
  private static final Allocation PINNED = plain(MemoryLocation.PINNED);
  private static final Allocation UNIFIED = plain(MemoryLocation.UNIFIED);

  // Bits of the flags.
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

  /** Returns the defaults, at a location. */
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

  /** Straight from the driver and straight back to it. */
  public Allocation unpooled() {
    return with(UNPOOLED);
  }

  /** With every byte zero. */
  public Allocation zeroed() {
    return with(ZEROED);
  }

  /**
   * With the host's and the device's first byte at a multiple of {@code bytes}.
   *
   * @throws IllegalArgumentException if {@code bytes} is no power of two or above 1 GiB
   */
  public Allocation aligned(long bytes) {
    if (bytes <= 0 || Long.bitCount(bytes) != 1 || bytes > 1L << 30) {
      throw new IllegalArgumentException(
          "alignment is " + bytes + "; it must be a power of two from 1 to " + (1L << 30));
    }
    return new Allocation(location, flags, bytes, node, use, tag, reservation);
  }

  /**
   * With the host's bytes from a NUMA node while it has room, else from others.
   *
   * <p>Applies to all buffers of the CPU accelerator, and to HOST and PINNED buffers of an
   * accelerator with memory of its own. Without this option a PINNED buffer lies on the
   * accelerator's own node if its driver names one. Page-locked blocks of a node have a pool of
   * their own; any other such block is allocated for the buffer alone and does not come from a
   * pool. Where the system knows no NUMA policies, or forbids them, the memory comes from any node;
   * {@code tidepool info} says so.
   *
   * @param node its number, from 0. If there is no such node, an allocation throws an {@link
   *     IllegalArgumentException} that names the nodes that exist
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
   * With the host's bytes on huge pages: those that the administrator has set aside if enough are
   * left, else those that the system puts together as far as it can, else small ones.
   *
   * <p>Applies to the same buffers as {@link #onNode}. Such a block does not come from a pool
   * either. It takes whole huge pages, at most 2 MiB or an eighth more than asked for.
   */
  public Allocation hugePages() {
    return with(HUGE_PAGES);
  }

  /**
   * With the hint that the bytes are read far more often than written. Managed UNIFIED memory then
   * has a copy of each page wherever it is read; a write discards the copies. Elsewhere the hint
   * changes nothing.
   */
  public Allocation mostlyRead() {
    return with(MOSTLY_READ);
  }

  /**
   * With the hint that the device uses the bytes. Managed UNIFIED memory then stays on the device
   * while it has room, and PINNED memory is write-combined where the driver offers that: the host
   * writes past its caches. The device reads such memory faster, and the host reads it very slowly.
   * Elsewhere the hint changes nothing.
   */
  public Allocation mostlyDevice() {
    return mostly(Use.DEVICE);
  }

  /**
   * With the hint that the host uses the bytes. Managed UNIFIED memory then stays in the host's
   * memory, where the device reaches it over the bus, and its pages do not move back and forth.
   * Elsewhere the hint changes nothing. If this hint is combined with {@link #mostlyDevice()} or
   * {@link #mostlyShared()}, the last one counts.
   */
  public Allocation mostlyHost() {
    return mostly(Use.HOST);
  }

  /**
   * With the hint that host and device use the bytes at the same time. Managed UNIFIED memory then
   * stays reachable for both, wherever its pages are: an access causes no page fault. Elsewhere the
   * hint changes nothing. If this hint is combined with {@link #mostlyDevice()} or {@link
   * #mostlyHost()}, the last one counts.
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

  /** Names the owner of the bytes in statistics, errors and leak reports. */
  public Allocation tag(String tag) {
    Objects.requireNonNull(tag, "tag");
    return new Allocation(location, flags, alignment, node, use, tag, reservation);
  }

  /**
   * With the bytes on the device counted against a reservation, for as long as it is open. The
   * manager that allocates must be the one that {@linkplain UnifiedMemoryManager#reserve made} it.
   */
  public Allocation within(Reservation reservation) {
    Objects.requireNonNull(reservation, "reservation");
    return new Allocation(location, flags, alignment, node, use, tag, reservation);
  }

  /** Returns whether nothing but location and tag differs from the defaults. */
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

  /** Returns the alignment asked for in bytes, or 0 for the default. */
  public long alignment() {
    return alignment;
  }

  /** Returns the NUMA node that is preferred for the host's bytes; empty for any. */
  public OptionalInt node() {
    return node;
  }

  /** Returns whether huge pages are preferred for the host's bytes. */
  public boolean wantsHugePages() {
    return has(HUGE_PAGES);
  }

  /** Returns whether the bytes are read far more often than written. */
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

  /** Returns the name of the owner of the bytes; empty if none was given. */
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
