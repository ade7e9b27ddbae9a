package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.airlift.compress.v3.lz4.Lz4Decompressor;
import io.airlift.compress.v3.lz4.Lz4JavaDecompressor;
import io.airlift.compress.v3.lz4.Lz4NativeDecompressor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName("An LZ4 block")
class Lz4BlockTest {
  private static final long SEED = Samples.SEED;
  private static final int PAGE = 4096;

  /** Both of aircompressor's decoders, whichever this platform would take. */
  enum Decoder {
    NATIVE,
    JAVA;

    Lz4Decompressor open() {
      if (this == JAVA) {
        return new Lz4JavaDecompressor();
      }
      assumeTrue(Lz4NativeDecompressor.isEnabled(), "aircompressor has no native code here");
      return new Lz4NativeDecompressor();
    }
  }

  @Test
  void decodes_to_its_literals_and_matches() {
    // 4 literals "abcd", a match of 6 from 4 bytes back, then 8 literals.
    assertThat(decoded("42 61626364 0400 80 65666768696a6b6c", 18))
        .isEqualTo("abcdabcdabefghijkl".getBytes());
  }

  @Test
  void repeats_what_overlaps_its_own_copy() {
    for (int offset = 1; offset <= 20; offset++) {
      byte[] expected = new byte[offset + 300 + 5];
      for (int i = 0; i < offset + 300; i++) {
        expected[i] = (byte) (1 + i % offset);
      }
      byte[] literals = Arrays.copyOf(expected, offset);
      String length = offset < 15 ? "" : "%02x".formatted(offset - 15);
      String block =
          "%x".formatted(Math.min(15, offset))
              + "f"
              + length
              + HexFormat.of().formatHex(literals)
              + "%02x00".formatted(offset)
              + "ff%02x".formatted(300 - 4 - 15 - 255)
              + "50"
              + "0000000000";

      assertThat(decoded(block, expected.length)).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "''|cut at its byte 0, where a sequence should begin",
        "40616263|cut at its byte 4, within 4 literal bytes",
        "f0|cut at its byte 1, within a length",
        "f0ffff|cut at its byte 3, within a length",
        "1061 04|cut at its byte 2, within an offset",
        "1061 0100|cut at its byte 4, where a sequence should begin",
        "1061 0000 00|a match at its byte 2 reaches back 0 bytes, where 1 are decoded",
        "1061 0200 00|a match at its byte 2 reaches back 2 bytes, where 1 are decoded; or it was"
            + " made with a dictionary",
        "1f61 0100 ff ff 00 00|decodes to 530 bytes, but has room for 20",
        "1661 0100 10 61|last match is nearer to its end than the format allows",
      })
  void that_is_damaged_is_one_clear_error(String block, String message) {
    assertThatThrownBy(() -> decoded(block, 20))
        .isInstanceOf(Lz4FormatException.class)
        .hasMessageContaining(message);
  }

  @Test
  void has_a_size_that_depends_on_how_far_matches_may_reach_back() {
    // A match of 4 from 8 bytes back, then 5 literals.
    MemorySegment block = hex("00 0800 50 3132333435");

    assertThat(Lz4Block.decodedSize(block, 8)).isEqualTo(9);
    assertThatThrownBy(() -> Lz4Block.decodedSize(block, 7))
        .hasMessageContaining("reaches back 8 bytes, where 7 are decoded");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 4, 5, 12, 13, 14, 100, 255, 4096, 70_000, 300_000})
  void comes_back_as_it_was_compressed(int length) {
    Random random = new Random(SEED + length);
    for (Samples kind : Samples.values()) {
      byte[] bytes = kind.bytes(length, random);
      byte[] block = Samples.compressed(bytes);

      assertThat(ReferenceDecoder.decode(block, length)).hasValue(bytes);
      assertThat(Lz4Block.decodedSize(MemorySegment.ofArray(block), 0)).isEqualTo(length);
      // Of no room at all the decoders make different things, and frames never have that.
      assertThat(decoded(MemorySegment.ofArray(block), Math.max(1, length)))
          .as("%s, seed %d", kind, SEED)
          .isEqualTo(bytes);
    }
  }

  @ParameterizedTest
  @EnumSource
  @EnabledOnOs(OS.LINUX)
  void is_cut_anywhere_and_no_byte_beside_it_is_touched(Decoder decoder, @TempDir Path folder)
      throws IOException {
    byte[] bytes = Samples.TEXT.bytes(3000, new Random(SEED));
    byte[] block = Samples.compressed(bytes);
    try (Fence fence = new Fence(decoder.open(), folder)) {
      for (int length = 0; length <= block.length; length++) {
        fence.decode(Arrays.copyOf(block, length), bytes.length);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  @EnabledOnOs(OS.LINUX)
  void is_changed_at_random_and_no_byte_beside_it_is_touched(Decoder decoder, @TempDir Path folder)
      throws IOException {
    Random random = new Random(SEED);
    int decoded = 0;
    try (Fence fence = new Fence(decoder.open(), folder)) {
      for (int round = 0; round < 20_000; round++) {
        byte[] bytes = Samples.values()[round % 3].bytes(random.nextInt(2000), random);
        byte[] block = Samples.compressed(bytes);
        for (int change = random.nextInt(4); change > 0; change--) {
          block[random.nextInt(block.length)] = (byte) random.nextInt();
        }
        int room = 1 + (round % 2 == 0 ? bytes.length : random.nextInt(bytes.length + 1));
        decoded += fence.decode(block, room) ? 1 : 0;
      }
    }
    assertThat(decoded).isBetween(2_000, 18_000);
  }

  /**
   * Memory that ends where a page ends behind which none is: an access beyond the end is a bus
   * error, which Java code reports as an {@link InternalError} and native code dies of.
   */
  private static final class Fence implements AutoCloseable {
    private static final byte UNTOUCHED = 0x5a;

    private final Lz4Decompressor decoder;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment source;
    private final MemorySegment target;

    Fence(Lz4Decompressor decoder, Path folder) throws IOException {
      this.decoder = decoder;
      source = page(folder.resolve("source"));
      target = page(folder.resolve("target"));
    }

    private MemorySegment page(Path file) throws IOException {
      try (FileChannel channel =
          FileChannel.open(
              file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE)) {
        MemorySegment pages = channel.map(MapMode.READ_WRITE, 0, 2 * PAGE, arena);
        channel.truncate(PAGE);
        return pages.asSlice(0, PAGE);
      }
    }

    /** Decodes a block as the reference does, or refuses it; returns whether it was decoded. */
    boolean decode(byte[] block, int room) {
      MemorySegment from = source.asSlice(PAGE - block.length);
      from.copyFrom(MemorySegment.ofArray(block));
      target.fill(UNTOUCHED);
      MemorySegment to = target.asSlice(PAGE - room);
      Optional<byte[]> expected = ReferenceDecoder.decode(block, room);
      try {
        long size = Lz4Block.decode(decoder, from, to);

        // The format's rules for the end of a block are the decoder's to check, or not.
        assertThat(expected)
            .as("seed %d", SEED)
            .hasValue(to.asSlice(0, size).toArray(ValueLayout.JAVA_BYTE));
        return true;
      } catch (Lz4FormatException e) {
        assertThat(e.getMessage()).isNotBlank();
        return false;
      } finally {
        assertThat(target.asSlice(0, PAGE - room).toArray(ValueLayout.JAVA_BYTE))
            .as("seed %d", SEED)
            .containsOnly(UNTOUCHED);
      }
    }

    @Override
    public void close() {
      arena.close();
    }
  }

  private static MemorySegment hex(String bytes) {
    return MemorySegment.ofArray(HexFormat.of().parseHex(bytes.replace(" ", "")));
  }

  private static byte[] decoded(String block, int room) {
    return decoded(hex(block), room);
  }

  private static byte[] decoded(MemorySegment block, int room) {
    byte[] target = new byte[room];
    long size = Lz4Block.decode(block, MemorySegment.ofArray(target));
    return Arrays.copyOf(target, (int) size);
  }
}
