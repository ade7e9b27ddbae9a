package dev.tidepool.lz4;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import io.airlift.compress.v3.lz4.Lz4Compressor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * Finds the {@link Lz4Costs} of an accelerator. The cost of its link is calibrated. The decoding
 * speeds of both sides are measured with four megabytes of generated data; the fastest of a few
 * tries counts. This takes some tenths of a second. The accelerator's decoded bytes are compared
 * with the data.
 */
public final class Lz4Measurement {
  private static final int BLOCKS = 64;
  private static final int BLOCK_BYTES = 64 << 10;
  private static final long BYTES = (long) BLOCKS * BLOCK_BYTES;
  private static final int TRIES = 5;

  private Lz4Measurement() {}

  /**
   * Measures the link to a manager's accelerator, and the decoding on both sides.
   *
   * @return empty if no page-locked memory can be sent there, or if the accelerator decodes wrongly
   */
  public static Optional<Lz4Costs> of(UnifiedMemoryManager memory, Lz4DeviceDecoder decoder) {
    Optional<Cost> link = memory.transfers().calibrate().cost(Leg.PINNED_UP);
    if (link.isEmpty()) {
      return Optional.empty();
    }
    try (Arena arena = Arena.ofShared();
        UnifiedBuffer<byte[]> source = memory.allocate(ElementType.BYTE, BYTES);
        UnifiedBuffer<byte[]> target = memory.allocate(ElementType.BYTE, BYTES)) {
      byte[] plain = sample();
      MemorySegment block = compressed(plain, arena);
      MemorySegment room = arena.allocate(BLOCK_BYTES);
      double host =
          seconds(
              () -> {
                for (int i = 0; i < BLOCKS; i++) {
                  Lz4Block.decode(block, room);
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
      if (!hasDecoded(plain, target)) {
        return Optional.empty();
      }
      return Optional.of(new Lz4Costs(link.get(), BYTES / host, BYTES / onDevice));
    }
  }

  private static boolean hasDecoded(byte[] plain, UnifiedBuffer<byte[]> target) {
    byte[] decoded = new byte[BLOCK_BYTES];
    for (int i = 0; i < BLOCKS; i++) {
      try (UnifiedBuffer<byte[]> part = target.slice((long) i * BLOCK_BYTES, BLOCK_BYTES)) {
        part.copyTo(decoded);
      }
      if (!Arrays.equals(decoded, plain)) {
        return false;
      }
    }
    return true;
  }

  /** Returns bytes that repeat after a while, as in much data that is compressed. */
  private static byte[] sample() {
    SplittableRandom random = new SplittableRandom(1);
    byte[] plain = new byte[BLOCK_BYTES];
    for (int i = 0; i < plain.length; i++) {
      boolean repeats = i >= 1024 && random.nextInt(16) > 0;
      plain[i] = repeats ? plain[i - 1024] : (byte) random.nextInt();
    }
    return plain;
  }

  private static MemorySegment compressed(byte[] plain, Arena arena) {
    Lz4Compressor compressor = Lz4Compressor.create();
    MemorySegment compressed = arena.allocate(compressor.maxCompressedLength(plain.length));
    return compressed.asSlice(0, compressor.compress(MemorySegment.ofArray(plain), compressed));
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
