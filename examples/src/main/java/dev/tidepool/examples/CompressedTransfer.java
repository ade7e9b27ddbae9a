package dev.tidepool.examples;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.lz4.Lz4DeviceDecoder;
import io.airlift.compress.v3.lz4.Lz4Compressor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Compressed transfer: compressed blocks are copied and the device decodes them, which pays off
 * over a slow link. {@code eval} does so for compressed files if a measurement showed that it is
 * faster.
 */
public final class CompressedTransfer {
  private static final int BLOCK = 64 << 10;

  private CompressedTransfer() {}

  /** Runs the example; the argument is the number of floats, 1,000,000 by default. */
  public static void main(String[] arguments) {
    float[] values = new float[Check.size(arguments, 1_000_000)];
    for (int i = 0; i < values.length; i++) {
      values[i] = i % 100; // repetitive, so that it can be compressed
    }
    try (Arena arena = Arena.ofShared();
        UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      Optional<Lz4DeviceDecoder> decoder = Lz4DeviceDecoder.of(memory);
      if (decoder.isEmpty()) {
        System.out.println(memory.accelerator().name() + " runs no hand-written kernels");
        return;
      }
      MemorySegment plain = arena.allocateFrom(ValueLayout.JAVA_FLOAT, values);
      // Each block is compressed separately, so that work items decode blocks in parallel.
      Lz4Compressor compressor = Lz4Compressor.create();
      long largest = compressor.maxCompressedLength(BLOCK);
      MemorySegment room = arena.allocate(largest * (plain.byteSize() / BLOCK + 1));
      List<Lz4DeviceDecoder.Block> blocks = new ArrayList<>();
      long size = 0;
      for (long at = 0; at < plain.byteSize(); at += BLOCK) {
        long bytes = Math.min(BLOCK, plain.byteSize() - at);
        MemorySegment target = room.asSlice(size, largest);
        long compressed = compressor.compress(plain.asSlice(at, bytes), target);
        blocks.add(new Lz4DeviceDecoder.Block(size, compressed, at, bytes, false));
        size += compressed;
      }
      System.out.printf("%d bytes travel instead of %d%n", size, plain.byteSize());

      try (UnifiedBuffer<byte[]> travelling = memory.allocate(ElementType.BYTE, size);
          UnifiedBuffer<float[]> decoded = memory.allocate(ElementType.FLOAT, values.length)) {
        travelling.copyFrom(room.asSlice(0, size), 0);
        long[] sizes = decoder.get().decode(travelling, blocks, decoded.as(ElementType.BYTE));
        boolean whole = true;
        for (int i = 0; i < sizes.length; i++) {
          whole &= sizes[i] == blocks.get(i).room();
        }
        Check.that(whole, "all of " + sizes.length + " blocks were decoded on the device");
        float[] back = new float[values.length];
        decoded.copyTo(back);
        Check.that(
            MemorySegment.ofArray(back).mismatch(plain) < 0,
            "they hold the bytes that were compressed");
      }
    }
  }
}
