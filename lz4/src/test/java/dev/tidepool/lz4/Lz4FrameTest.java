package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.OptionalLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@DisplayName("The header of an LZ4 frame")
class Lz4FrameTest {
  @Test
  void is_read_as_it_was_written() {
    for (int flags = 0; flags < 16; flags++) {
      for (int blockBytes = 64 << 10; blockBytes <= 4 << 20; blockBytes *= 4) {
        Lz4Frame frame =
            new Lz4Frame(
                (flags & 1) != 0,
                (flags & 2) != 0,
                (flags & 4) != 0,
                (flags & 8) != 0 ? OptionalLong.of(1L << 40) : OptionalLong.empty(),
                blockBytes);
        byte[] header = frame.encode();

        assertThat(header).hasSize(frame.headerBytes());
        assertThat(Lz4Frame.parse(ByteBuffer.wrap(header))).isEqualTo(frame);
      }
    }
  }

  @Test
  void that_is_changed_at_any_place_is_noticed() {
    byte[] header = Lz4Frame.of(123_456).encode();
    for (int bit = 0; bit < header.length * 8; bit++) {
      byte[] changed = header.clone();
      changed[bit / 8] ^= (byte) (1 << bit % 8);

      assertThatThrownBy(() -> Lz4Frame.parse(ByteBuffer.wrap(changed)))
          .isInstanceOf(Lz4FormatException.class);
    }
    for (int length = 0; length < header.length; length++) {
      byte[] cut = Arrays.copyOf(header, length);

      assertThatThrownBy(() -> Lz4Frame.parse(ByteBuffer.wrap(cut)))
          .isInstanceOf(Lz4FormatException.class)
          .hasMessageContaining("cut within a frame's header");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "02214c18 6440 a7 00|old frame format; decompress it and compress it again",
        "504b0304 0000 0000|holds no LZ4 frame: 04034b50",
        "04224d18 6140 00000000 00|needs a dictionary; compress it without one",
        "04224d18 6430 00|names the unknown block size 3",
        "04224d18 a440 00|damaged or of a newer version",
      })
  void that_is_not_supported_says_so(String header, String message) {
    ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(header.replace(" ", "")));

    assertThatThrownBy(() -> Lz4Frame.parse(bytes))
        .isInstanceOf(Lz4FormatException.class)
        .hasMessageContaining(message);
  }

  @Test
  void of_other_data_is_skipped() {
    ByteBuffer other = ByteBuffer.wrap(HexFormat.of().parseHex("5f2a4d1805000000"));

    assertThat(Lz4Frame.skippableBytes(other)).hasValue(13);
    assertThat(Lz4Frame.skippableBytes(ByteBuffer.wrap(Lz4Frame.of(1).encode()))).isEmpty();
  }
}
