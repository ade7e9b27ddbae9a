package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName("An LZ4 block")
class Lz4BlockTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 20261121);

  @Test
  void decodes_to_its_literals_and_matches() {
    // 4 literals "abcd", a match of 6 from 4 bytes back, then 5 literals.
    assertThat(decoded("42 61626364 0400 50 65666768 69", 15))
        .isEqualTo("abcdabcdabefghi".getBytes());
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
        "1061 0200 00|a match at its byte 2 reaches back 2 bytes, where 1 are decoded",
        "1f61 0100 ff ff 00 00|decodes to 530 bytes or more at its byte 7, but has room for 100",
      })
  void that_is_damaged_is_one_clear_error(String block, String message) {
    assertThatThrownBy(() -> decoded(block, 100))
        .isInstanceOf(Lz4FormatException.class)
        .hasMessageContaining(message);
  }

  @Test
  void reaches_back_into_its_history_and_no_further() {
    byte[] target = "abcdefgh.........".getBytes();
    // A match of 4 from 8 bytes back, then 5 literals.
    MemorySegment block = hex("00 0800 50 3132333435");

    assertThat(Lz4Block.decode(block, MemorySegment.ofArray(target), 8, 8, 17)).isEqualTo(9);
    assertThat(target).isEqualTo("abcdefghabcd12345".getBytes());
    assertThatThrownBy(() -> Lz4Block.decode(block, MemorySegment.ofArray(target), 8, 7, 17))
        .hasMessageContaining("reaches back 8 bytes, where 7 are decoded");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 4, 5, 12, 13, 14, 100, 255, 4096, 70_000, 300_000})
  void comes_back_as_it_was_compressed(int length) {
    Random random = new Random(SEED + length);
    for (Kind kind : Kind.values()) {
      byte[] bytes = kind.bytes(length, random);
      MemorySegment block = compressed(bytes);

      assertThat(Lz4Block.decodedSize(block)).isEqualTo(length);
      assertThat(decoded(block, length)).as("%s, seed %d", kind, SEED).isEqualTo(bytes);
    }
  }

  @Test
  void that_repeats_gets_smaller() {
    assertThat(compressed(new byte[100_000]).byteSize()).isLessThan(500);
  }

  @Test
  void is_cut_anywhere_and_no_byte_beside_the_room_is_touched() {
    byte[] bytes = Kind.TEXT.bytes(3000, new Random(SEED));
    MemorySegment block = compressed(bytes);
    for (long length = 0; length < block.byteSize(); length++) {
      decodeBetweenGuards(block.asSlice(0, length), bytes.length);
    }
  }

  @Test
  void is_changed_at_random_and_no_byte_beside_the_room_is_touched() {
    Random random = new Random(SEED);
    for (int round = 0; round < 3000; round++) {
      byte[] bytes = Kind.values()[round % 3].bytes(random.nextInt(2000), random);
      byte[] block = compressed(bytes).toArray(ValueLayout.JAVA_BYTE);
      for (int change = random.nextInt(4); change >= 0 && block.length > 0; change--) {
        block[random.nextInt(block.length)] = (byte) random.nextInt();
      }
      decodeBetweenGuards(MemorySegment.ofArray(block), random.nextInt(bytes.length + 1));
    }
  }

  /** Whether it decodes or not, what stands around the room stays. */
  private static void decodeBetweenGuards(MemorySegment block, int room) {
    int guard = 70;
    byte[] target = new byte[guard + room + guard];
    Arrays.fill(target, (byte) 0x5a);
    try {
      long size = Lz4Block.decode(block, MemorySegment.ofArray(target), guard, 0, guard + room);
      assertThat(size).isBetween(0L, (long) room);
    } catch (Lz4FormatException e) {
      assertThat(e).hasMessageContaining("byte");
    }
    Arrays.fill(target, guard, guard + room, (byte) 0x5a);
    assertThat(target).as("seed %d", SEED).containsOnly(0x5a);
  }

  private enum Kind {
    NOISE,
    TEXT,
    ZEROS;

    byte[] bytes(int length, Random random) {
      byte[] bytes = new byte[length];
      switch (this) {
        case NOISE -> random.nextBytes(bytes);
        case TEXT -> {
          for (int i = 0; i < length; i++) {
            boolean copies = i > 30 && random.nextInt(12) > 0;
            bytes[i] = copies ? bytes[i - 1 - i / 7 % 29] : (byte) ('a' + random.nextInt(20));
          }
        }
        case ZEROS -> {}
      }
      return bytes;
    }
  }

  private static MemorySegment compressed(byte[] bytes) {
    MemorySegment room = MemorySegment.ofArray(new byte[(int) Lz4Compressor.bound(bytes.length)]);
    return room.asSlice(0, new Lz4Compressor().compress(MemorySegment.ofArray(bytes), room));
  }

  private static MemorySegment hex(String bytes) {
    return MemorySegment.ofArray(HexFormat.of().parseHex(bytes.replace(" ", "")));
  }

  private static byte[] decoded(String block, int room) {
    return decoded(hex(block), room);
  }

  private static byte[] decoded(MemorySegment block, int room) {
    byte[] target = new byte[room];
    long size = Lz4Block.decode(block, MemorySegment.ofArray(target), 0, 0, room);
    return Arrays.copyOf(target, (int) size);
  }
}
