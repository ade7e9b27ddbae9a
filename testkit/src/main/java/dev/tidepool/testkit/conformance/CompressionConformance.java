package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.lz4.Lz4Block;
import dev.tidepool.lz4.Lz4Compressor;
import dev.tidepool.lz4.Lz4DeviceDecoder;
import dev.tidepool.lz4.Lz4FormatException;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** LZ4 blocks are decoded on the accelerator as on the host, whatever is in them. */
public abstract class CompressionConformance extends Topic {
  private static final long SEED = Long.getLong("tidepool.test.seed", 7);
  private static final int BLOCKS = 40;
  private static final int ROOM = 5000;

  /** Bytes between rooms, which nobody may touch. */
  private static final int GUARD = 24;

  private static final byte UNTOUCHED = 0x5a;

  @Test
  final void blocksAreDecodedAsOnTheHost() {
    Random random = new Random(SEED);
    List<byte[]> blocks = new ArrayList<>();
    for (int i = 0; i < BLOCKS; i++) {
      blocks.add(compressed(bytes(i * ROOM / BLOCKS, random)));
    }
    assertDecodedAsOnTheHost(blocks, false);
  }

  @Test
  final void blocksThatAreStoredAreCopied() {
    Random random = new Random(SEED);
    List<byte[]> blocks = new ArrayList<>();
    for (int i = 0; i < BLOCKS; i++) {
      blocks.add(bytes(i * ROOM / (BLOCKS - 2), random)); // the last one is too large
    }
    assertDecodedAsOnTheHost(blocks, true);
  }

  @Test
  final void damagedBlocksAreReportedAndTouchNothingElse() {
    Random random = new Random(SEED);
    List<byte[]> blocks = new ArrayList<>();
    for (int i = 0; i < 20 * BLOCKS; i++) {
      byte[] block = compressed(bytes(random.nextInt(ROOM), random));
      for (int change = i % 4; change > 0; change--) {
        block[random.nextInt(block.length)] = (byte) random.nextInt();
      }
      blocks.add(i % 5 == 0 ? Arrays.copyOf(block, random.nextInt(block.length)) : block);
    }
    assertDecodedAsOnTheHost(blocks, false);
  }

  private void assertDecodedAsOnTheHost(List<byte[]> blocks, boolean stored) {
    bench().assumeCompiler();
    Optional<Lz4DeviceDecoder> decoder = Lz4DeviceDecoder.of(memory());
    assumeTrue(decoder.isPresent(), "the accelerator runs no hand-written kernels");
    ByteArrayOutputStream source = new ByteArrayOutputStream();
    List<Lz4DeviceDecoder.Block> places = new ArrayList<>();
    for (byte[] block : blocks) {
      long target = GUARD + (long) places.size() * (ROOM + GUARD);
      places.add(new Lz4DeviceDecoder.Block(source.size(), block.length, target, ROOM, stored));
      source.writeBytes(block);
    }
    UnifiedBuffer<byte[]> compressed =
        buffer(ElementType.BYTE, source.size(), MemoryLocation.DEVICE);
    compressed.copyFrom(source.toByteArray());
    UnifiedBuffer<byte[]> target =
        buffer(
            ElementType.BYTE, GUARD + (long) blocks.size() * (ROOM + GUARD), MemoryLocation.DEVICE);
    target.fill(UNTOUCHED);

    long[] sizes = decoder.get().decode(compressed, places, target);

    byte[] found = contents(target);
    for (int at = 0; at < found.length; at += ROOM + GUARD) {
      assertThat(Arrays.copyOfRange(found, at, at + GUARD))
          .as("bytes before block %d, seed %d", at / (ROOM + GUARD), SEED)
          .containsOnly(UNTOUCHED);
    }
    for (int i = 0; i < sizes.length; i++) {
      byte[] expected = new byte[ROOM];
      long size = onTheHost(blocks.get(i), expected, stored);
      int from = (int) places.get(i).target();
      assertThat(sizes[i]).as("block %d, seed %d", i, SEED).isEqualTo(size);
      assertThat(Arrays.copyOfRange(found, from, from + (int) Math.max(0, size)))
          .as("block %d, seed %d", i, SEED)
          .isEqualTo(Arrays.copyOf(expected, (int) Math.max(0, size)));
    }
  }

  private static long onTheHost(byte[] block, byte[] target, boolean stored) {
    if (stored) {
      System.arraycopy(block, 0, target, 0, Math.min(block.length, ROOM));
      return block.length <= ROOM ? block.length : -1;
    }
    try {
      return Lz4Block.decode(
          MemorySegment.ofArray(block), MemorySegment.ofArray(target), 0, 0, ROOM);
    } catch (Lz4FormatException _) {
      return -1;
    }
  }

  /** Bytes that repeat in part. */
  private static byte[] bytes(int length, Random random) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      boolean repeats = i > 40 && random.nextInt(10) > 0;
      bytes[i] = repeats ? bytes[i - 1 - i / 9 % 39] : (byte) random.nextInt();
    }
    return bytes;
  }

  private static byte[] compressed(byte[] bytes) {
    MemorySegment room = MemorySegment.ofArray(new byte[(int) Lz4Compressor.bound(bytes.length)]);
    long size = new Lz4Compressor().compress(MemorySegment.ofArray(bytes), room);
    return room.asSlice(0, size).toArray(ValueLayout.JAVA_BYTE);
  }
}
