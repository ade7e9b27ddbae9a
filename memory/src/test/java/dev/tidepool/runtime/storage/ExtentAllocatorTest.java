package dev.tidepool.runtime.storage;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The space of a spill file is shared by nobody, used again, and given back. */
final class ExtentAllocatorTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", System.nanoTime());

  private record Part(long start, long bytes) {
    long end() {
      return start + Math.ceilDiv(bytes, 4096) * 4096;
    }
  }

  @Test
  void gapsThatMeetBecomeOneAndTheEndComesDown() {
    ExtentAllocator space = new ExtentAllocator();
    long first = space.take(4096);
    long second = space.take(5000);
    long third = space.take(1);
    assertThat(List.of(first, second, third, space.end()))
        .containsExactly(0L, 4096L, 12288L, 16384L);
    space.giveBack(first, 4096);
    space.giveBack(second, 5000);
    assertThat(space.take(12288)).isZero();
    space.giveBack(0, 12288);
    space.giveBack(third, 1);
    assertThat(space.end()).isZero();
  }

  @Test
  void partsNeverOverlapAndAllSpaceComesBack() {
    System.out.println("seed " + SEED);
    SplittableRandom random = new SplittableRandom(SEED);
    ExtentAllocator space = new ExtentAllocator();
    List<Part> taken = new ArrayList<>();
    long live = 0;
    long mostLive = 0;
    for (int i = 0; i < 5000; i++) {
      if (random.nextBoolean() || taken.isEmpty()) {
        long bytes = random.nextLong(1, 100_000);
        Part part = new Part(space.take(bytes), bytes);
        assertThat(taken).noneMatch(t -> t.start() < part.end() && part.start() < t.end());
        assertThat(part.end()).isLessThanOrEqualTo(space.end());
        taken.add(part);
        live += part.end() - part.start();
        mostLive = Math.max(mostLive, live);
      } else {
        Part part = taken.remove(random.nextInt(taken.size()));
        space.giveBack(part.start(), part.bytes());
        live -= part.end() - part.start();
      }
      assertThat(space.end()).isBetween(live, 4 * mostLive);
    }
    taken.forEach(part -> space.giveBack(part.start(), part.bytes()));
    assertThat(space.end()).isZero();
  }
}
