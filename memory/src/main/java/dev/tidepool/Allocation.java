package dev.tidepool;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/**
 * How to allocate. Immutable; each option is orthogonal to the others and answers with a copy.
 *
 * <p>Defaults: pooled, not cleared, aligned to 64 bytes (4 KiB from 64 KiB up), untagged.
 */
public final class Allocation {
  private static final Map<MemoryLocation, Allocation> DEFAULTS =
      new EnumMap<>(MemoryLocation.class);

  static {
    for (MemoryLocation location : MemoryLocation.values()) {
      DEFAULTS.put(location, new Allocation(location, true, false, 0, ""));
    }
  }

  private final MemoryLocation location;
  private final boolean pooled;
  private final boolean zeroed;
  private final long alignment;
  private final String tag;

  private Allocation(
      MemoryLocation location, boolean pooled, boolean zeroed, long alignment, String tag) {
    this.location = location;
    this.pooled = pooled;
    this.zeroed = zeroed;
    this.alignment = alignment;
    this.tag = tag;
  }

  /** The defaults, at a location. */
  public static Allocation at(MemoryLocation location) {
    return Objects.requireNonNull(
        DEFAULTS.get(Objects.requireNonNull(location, "location")),
        "each location has its defaults");
  }

  /** Straight from the driver and straight back to it. */
  public Allocation unpooled() {
    return new Allocation(location, false, zeroed, alignment, tag);
  }

  /** With every byte zero. */
  public Allocation zeroed() {
    return new Allocation(location, pooled, true, alignment, tag);
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
    return new Allocation(location, pooled, zeroed, bytes, tag);
  }

  /** Says who owns the bytes, in statistics, errors and leak reports. */
  public Allocation tag(String tag) {
    return new Allocation(location, pooled, zeroed, alignment, Objects.requireNonNull(tag, "tag"));
  }

  /** Whether nothing but location and tag differs from the defaults. */
  public boolean isPlain() {
    return pooled && !zeroed && alignment == 0;
  }

  /** Where the bytes are born. */
  public MemoryLocation location() {
    return location;
  }

  /** Whether the block comes from a pool and returns to it. */
  public boolean isPooled() {
    return pooled;
  }

  /** Whether every byte starts as zero. */
  public boolean isZeroed() {
    return zeroed;
  }

  /** The alignment asked for in bytes, or 0 for the default. */
  public long alignment() {
    return alignment;
  }

  /** Who owns the bytes; empty if nobody said. */
  public String tag() {
    return tag;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Allocation that
        && location == that.location
        && pooled == that.pooled
        && zeroed == that.zeroed
        && alignment == that.alignment
        && tag.equals(that.tag);
  }

  @Override
  public int hashCode() {
    return Objects.hash(location, pooled, zeroed, alignment, tag);
  }

  @Override
  public String toString() {
    return "Allocation["
        + location
        + (pooled ? "" : ", unpooled")
        + (zeroed ? ", zeroed" : "")
        + (alignment == 0 ? "" : ", aligned to " + alignment)
        + (tag.isEmpty() ? "" : ", tag " + tag)
        + "]";
  }
}
