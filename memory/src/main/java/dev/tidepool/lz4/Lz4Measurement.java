package dev.tidepool.lz4;

import dev.tidepool.ElementType;
import dev.tidepool.TransferCalibration.Cost;
import dev.tidepool.TransferCalibration.Leg;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * Finds the {@link Lz4Costs} of an accelerator: what its link costs is calibrated, how fast both
 * sides decode is measured with four megabytes of made up data. Takes some tenths of a second. The
 * fastest of a few tries counts.
 */
public final class Lz4Measurement {
  private static final int BLOCKS = 64;
  private static final int BLOCK_BYTES = 64 << 10;
  private static final long BYTES = (long) BLOCKS * BLOCK_BYTES;
  private static final int TRIES = 5;

  private Lz4Measurement() {}

  /**
   * Measures the way to a manager's accelerator, and both ways to decode.
   *
   * @return empty if no page-locked memory can be sent there
   */
  public static Optional<Lz4Costs> of(UnifiedMemoryManager memory, Lz4DeviceDecoder decoder) {
    Optional<Cost> link = memory.transfers().calibrate().cost(Leg.PINNED_UP);
    if (link.isEmpty()) {
      return Optional.empty();
    }
    try (Arena arena = Arena.ofShared();
        UnifiedBuffer<byte[]> source = memory.allocate(ElementType.BYTE, BYTES);
        UnifiedBuffer<byte[]> target = memory.allocate(ElementType.BYTE, BYTES)) {
      MemorySegment block = sample(arena);
      MemorySegment room = arena.allocate(BLOCK_BYTES);
      double host =
          seconds(
              () -> {
                for (int i = 0; i < BLOCKS; i++) {
                  Lz4Block.decode(block, room, 0, 0, BLOCK_BYTES);
                }
              });

      List<Lz4DeviceDecoder.Block> blocks = new ArrayList<>();
      for (int i = 0; i < BLOCKS; i++) {
        long from = i * block.byteSize();
        source.copyFrom(block, from);
        blocks.add(
            new Lz4DeviceDecoder.Block(
                from, block.byteSize(), (long) i * BLOCK_BYTES, BLOCK_BYTES, false));
      }
      double onDevice = seconds(() -> decoder.decode(source, blocks, target));
      return Optional.of(new Lz4Costs(link.get(), BYTES / host, BYTES / onDevice));
    }
  }

  /** A compressed block of words that come back after a while, as in much that is compressed. */
  private static MemorySegment sample(Arena arena) {
    SplittableRandom random = new SplittableRandom(1);
    byte[] plain = new byte[BLOCK_BYTES];
    for (int i = 0; i < plain.length; i++) {
      boolean repeats = i >= 1024 && random.nextInt(16) > 0;
      plain[i] = repeats ? plain[i - 1024] : (byte) random.nextInt();
    }
    MemorySegment compressed = arena.allocate(Lz4Compressor.bound(BLOCK_BYTES));
    long size = new Lz4Compressor().compress(MemorySegment.ofArray(plain), compressed);
    return compressed.asSlice(0, size);
  }

  private static double seconds(Runnable action) {
    long best = Long.MAX_VALUE;
    for (int i = 0; i < TRIES; i++) {
      long start = System.nanoTime();
      action.run();
      best = Math.min(best, System.nanoTime() - start);
    }
    return Math.max(1, best) / 1e9;
  }
}
