package dev.tidepool.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class HostRegionTest {
  private static final int COUNT = 500_009;

  private final long[] array = new SplittableRandom(7).longs(COUNT).toArray();

  @Test
  void anArrayIsStagedWholeAlsoWhenItTakesManyCopies() {
    isStaged(new HostRegion.Elements<>(ElementType.LONG, array, 0, COUNT));
  }

  @Test
  void aSegmentIsStagedWholeAlsoWhenItTakesManyCopies() {
    isStaged(new HostRegion.Segment(MemorySegment.ofArray(array), false));
  }

  private void isStaged(HostRegion bytes) {
    assertThat(bytes.byteSize()).isGreaterThan(3 * HostRegion.CACHED);
    int skipped = 3;
    int taken = COUNT - 5;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment staged = arena.allocate(ValueLayout.JAVA_LONG, taken + 1).fill((byte) 9);
      bytes.stage(8L * skipped, staged.asSlice(0, 8L * taken));
      assertThat(staged.asSlice(0, 8L * taken).mismatch(source(skipped, taken))).isEqualTo(-1);
      assertThat(staged.getAtIndex(ValueLayout.JAVA_LONG, taken)).isEqualTo(0x0909090909090909L);
    }
  }

  private MemorySegment source(int from, int count) {
    return MemorySegment.ofArray(array).asSlice(8L * from, 8L * count);
  }
}
