package dev.tidepool.host.system;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class PageCountsTest {
  @Test
  void theCountsAreReadAtTheirPlacesAsUnsignedNumbers() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment structure = arena.allocate(PageCounts.BYTES, Long.BYTES).fill((byte) 0x11);
      structure.set(JAVA_INT, PageCounts.FREE, -1);
      structure.set(JAVA_INT, PageCounts.PURGEABLE, 2);
      structure.set(JAVA_INT, PageCounts.READ_AHEAD, 3);
      structure.set(JAVA_INT, PageCounts.FILE_BACKED, 4);
      assertThat(PageCounts.of(structure)).isEqualTo(new PageCounts(0xffff_ffffL, 3, 2, 4));
    }
  }

  @Test
  void pagesThatWereReadAheadAreCountedOnce() {
    assertThat(new PageCounts(100, 30, 20, 50).obtainable()).isEqualTo(140);
  }

  @Test
  void countsThatDoNotFitTogetherGiveNoNegativeNumber() {
    assertThat(new PageCounts(10, 30, 0, 0).obtainable()).isZero();
  }
}
