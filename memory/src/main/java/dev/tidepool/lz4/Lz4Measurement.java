package dev.tidepool.lz4;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Measures the {@link Lz4Costs} of an accelerator with four megabytes of made up data; takes some
 * tenths of a second. The fastest of a few tries counts.
 */
public final class Lz4Measurement {
  private static final int BLOCKS = 64;
  private static final int BLOCK_BYTES = 64 << 10;
  private static final long BYTES = (long) BLOCKS * BLOCK_BYTES;
  private static final int SMALL_BYTES = 4096;
  private static final int TRIES = 5;

  private Lz4Measurement() {}

  /** Measures the way to a manager's accelerator, and both ways to decode. */
  public static Lz4Costs of(UnifiedMemoryManager memory, Lz4DeviceDecoder decoder) {
    try (Arena arena = Arena.ofShared();
        UnifiedBuffer<byte[]> pinned =
            memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED);
        UnifiedBuffer<byte[]> device = memory.allocate(ElementType.BYTE, BYTES);
        UnifiedBuffer<byte[]> target = memory.allocate(ElementType.BYTE, BYTES)) {
      pinned.fill((byte) 0);
      UnifiedBuffer<byte[]> small = pinned.slice(0, SMALL_BYTES);
      double latency = seconds(() -> device.slice(0, SMALL_BYTES).copyFrom(small));
      double transfer = seconds(() -> device.copyFrom(pinned));

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
        long source = i * block.byteSize();
        device.copyFrom(block, source);
        blocks.add(
            new Lz4DeviceDecoder.Block(
                source, block.byteSize(), (long) i * BLOCK_BYTES, BLOCK_BYTES, false));
      }
      double onDevice = seconds(() -> decoder.decode(device, blocks, target));
      return new Lz4Costs(
          BYTES / Math.max(transfer - latency, transfer / 100),
          latency,
          BYTES / host,
          BYTES / onDevice);
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
