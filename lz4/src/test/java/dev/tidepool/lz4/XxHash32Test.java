package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class XxHash32Test {
  @ParameterizedTest
  @CsvSource({
    "'', 02cc5d05",
    "a, 550d7456",
    "abc, 32d153ff",
    "Nobody inspects the spammish repetition, e2293b2f",
  })
  void givesThePublishedSums(String text, String sum) {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);

    assertThat("%08x".formatted(XxHash32.of(MemorySegment.ofArray(bytes)))).isEqualTo(sum);
  }

  @Test
  void isTheSameHoweverTheBytesAreCutIntoPieces() {
    byte[] bytes = new byte[1000];
    new Random(1).nextBytes(bytes);
    MemorySegment all = MemorySegment.ofArray(bytes);
    for (int piece = 1; piece < 50; piece++) {
      XxHash32 hash = new XxHash32();
      for (int at = 0; at < bytes.length; at += piece) {
        hash.update(all.asSlice(at, Math.min(piece, bytes.length - at)));
      }

      assertThat(hash.value()).isEqualTo(XxHash32.of(all));
    }
  }
}
