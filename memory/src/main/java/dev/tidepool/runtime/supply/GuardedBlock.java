package dev.tidepool.runtime.supply;

import dev.tidepool.pool.block.BlockPart;
import dev.tidepool.spi.Block;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.Optional;

/**
 * A block between two guard zones that are filled with a pattern, as in debugging allocators.
 * Freeing overwrites the block, so that a read through a stale address finds no plausible bytes.
 */
public final class GuardedBlock implements ForwardingBlock {
  /** The bytes of the zone after the block, and the minimum of the zone before it. */
  static final long ZONE = 256;

  /** The value that fills freed memory. */
  public static final byte FREED = (byte) 0xDD;

  /** The longest distance before the block at which a write is detected. */
  private static final long MOST_BEFORE = 4096;

  private static final byte PATTERN = (byte) 0xFD;

  /**
   * Bytes of a zone that were overwritten.
   *
   * @param offset the first of them, relative to the first byte between the zones
   */
  public record Damage(long offset, long bytes) {}

  private final Block whole;
  private final long front;
  private final long bytes;
  private final MemorySegment all;
  private final BlockPart part;

  GuardedBlock(Block whole, long front, long bytes) {
    this.whole = whole;
    this.front = front;
    this.bytes = bytes;
    this.all = Objects.requireNonNull(whole.segment(), "only what the host reaches is guarded");
    this.part = new BlockPart(whole, front, bytes);
    before().fill(PATTERN);
    behind().fill(PATTERN);
  }

  private MemorySegment before() {
    long zone = Math.min(front, MOST_BEFORE);
    return all.asSlice(front - zone, zone);
  }

  private MemorySegment behind() {
    return all.asSlice(front + bytes, ZONE);
  }

  /** Returns the damage of the zone before the block; else that of the zone after it. */
  public Optional<Damage> damage() {
    MemorySegment before = before();
    return damage(before, -before.byteSize()).or(() -> damage(behind(), bytes));
  }

  private static Optional<Damage> damage(MemorySegment zone, long start) {
    long first = -1;
    long count = 0;
    for (long at = 0; at < zone.byteSize(); at++) {
      if (zone.get(ValueLayout.JAVA_BYTE, at) != PATTERN) {
        first = first < 0 ? at : first;
        count++;
      }
    }
    return count == 0 ? Optional.empty() : Optional.of(new Damage(start + first, count));
  }

  @Override
  public Block block() {
    return part;
  }

  @Override
  public void free() {
    try {
      all.asSlice(front, bytes).fill(FREED);
    } finally {
      whole.free();
    }
  }
}
