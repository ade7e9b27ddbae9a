package dev.tidepool.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SizeClassesTest {
  private static final long KIB = 1 << 10;

  @Test
  void theTwentyOnePowersOfTwoFrom1KibTo1GibAreClasses() {
    for (int bits = 10; bits <= 30; bits++) {
      assertThat(SizeClasses.bytesOf(SizeClasses.classOf(1L << bits))).isEqualTo(1L << bits);
    }
    assertThat(SizeClasses.bytesOf(0)).isEqualTo(SizeClasses.SMALLEST);
    assertThat(SizeClasses.bytesOf(SizeClasses.COUNT - 1)).isEqualTo(SizeClasses.LARGEST);
  }

  @Test
  void eachDoublingAbove4KibHasEightClassesAndAbove1MibThirtyTwo() {
    for (long from = 4 * KIB; from < SizeClasses.LARGEST; from *= 2) {
      assertThat(SizeClasses.classOf(2 * from) - SizeClasses.classOf(from))
          .isEqualTo(from < 1024 * KIB ? 8 : 32);
    }
  }

  @Test
  void whatServesItsOwnClassOnlyHasEightToEachDoubling() {
    Set<Integer> used = new HashSet<>();
    for (int i = 0; i < SizeClasses.COUNT; i++) {
      long bytes = SizeClasses.bytesOf(i);
      int coarse = SizeClasses.coarseIndexOf(bytes);
      used.add(coarse);
      assertThat(SizeClasses.bytesOf(coarse))
          .isBetween(bytes, bytes <= 4 * KIB ? bytes : bytes * 9 / 8);
      assertThat(SizeClasses.coarseIndexOf(SizeClasses.bytesOf(coarse))).isEqualTo(coarse);
    }
    assertThat(used).hasSize(3 + 18 * 8);
  }

  @Test
  void classesAscendAndEachHoldsItsOwnSize() {
    for (int i = 0; i < SizeClasses.COUNT; i++) {
      long bytes = SizeClasses.bytesOf(i);
      assertThat(SizeClasses.classOf(bytes)).isEqualTo(i);
      if (i + 1 < SizeClasses.COUNT) {
        assertThat(SizeClasses.classOf(bytes + 1)).isEqualTo(i + 1);
      }
    }
  }

  @Test
  void noRequestAbove4KibWastesMoreThanAnEighth() {
    for (long bytes = 1; bytes <= 8L << 20; bytes++) {
      assertFits(bytes);
    }
    SplittableRandom random = new SplittableRandom(7);
    for (int i = 0; i < 1_000_000; i++) {
      assertFits(random.nextLong(8L << 20, SizeClasses.LARGEST + 1));
    }
    for (int i = 1; i < SizeClasses.COUNT; i++) {
      assertFits(SizeClasses.bytesOf(i - 1) + 1);
    }
  }

  private static void assertFits(long bytes) {
    long given = SizeClasses.bytesOf(SizeClasses.classOf(bytes));
    if (given < bytes || (bytes > 4 * KIB && (given - bytes) * 8 > bytes)) {
      throw new AssertionError(bytes + " bytes get a block of " + given);
    }
  }
}
