package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.ArrayPoolStatistics;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** What the arrays of a manager hold is the manager's. */
class ManagerArraysTest {
  @Test
  void arraysCountInTheManagersFiguresAndGoWithItsTrim() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      ArrayPool<float[]> arrays = memory.arrays(ElementType.FLOAT);
      float[] array = arrays.rent(10_000);
      long bytes = 4L * array.length;
      assertThat(memory.statistics())
          .returns(bytes, MemoryStatistics::totalAllocated)
          .returns(bytes, MemoryStatistics::peakUsage)
          .returns(0L, MemoryStatistics::totalPooled)
          .returns(1L, MemoryStatistics::poolMisses);
      arrays.giveBack(array);
      assertThat(memory.arrays(ElementType.FLOAT).rent(10_000)).isSameAs(array);
      arrays.giveBack(array);
      assertThat(memory.statistics())
          .returns(0L, MemoryStatistics::totalAllocated)
          .returns(bytes, MemoryStatistics::totalPooled)
          .returns(1L, MemoryStatistics::poolHits);
      assertThat(memory.trimExcess()).isEqualTo(bytes);
      assertThat(memory.statistics().totalPooled()).isZero();
    }
  }

  @Test
  void theManagersLimitBoundsTheArraysOfAllTypes() {
    MemoryOptions options = MemoryOptions.builder().maxPoolBytes(16 << 10).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      ArrayPool<byte[]> bytes = memory.arrays(ElementType.BYTE);
      ArrayPool<long[]> longs = memory.arrays(ElementType.LONG);
      byte[] a = bytes.rent(8 << 10);
      byte[] b = bytes.rent(8 << 10);
      long[] c = longs.rent(1 << 10);
      bytes.giveBack(a);
      longs.giveBack(c);
      bytes.giveBack(b);
      assertThat(memory.statistics().totalPooled()).isEqualTo(16 << 10);
      assertThat(bytes.statistics().dropped()).isEqualTo(1);
    }
  }

  @Test
  void anUnpooledManagerKeepsNoArrays() {
    MemoryOptions options = MemoryOptions.builder().pooling(false).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      ArrayPool<int[]> arrays = memory.arrays(ElementType.INT);
      arrays.giveBack(arrays.rent(100));
      assertThat(memory.statistics().totalPooled()).isZero();
    }
  }

  @Test
  void arraysAreClearedOnReleaseIfBlocksAre() {
    MemoryOptions options = MemoryOptions.builder().zeroOnRelease(true).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      int[] array = memory.arrays(ElementType.INT).rent(100);
      Arrays.fill(array, 7);
      memory.arrays(ElementType.INT).giveBack(array);
      assertThat(array).containsOnly(0);
    }
  }

  @Test
  void arraysCloseWithTheirManager() {
    UnifiedMemoryManager memory = UnifiedMemoryManager.create();
    ArrayPool<int[]> arrays = memory.arrays(ElementType.INT);
    int[] array = arrays.rent(100);
    memory.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> arrays.rent(1))
        .withMessageContaining("closed");
    assertThatIllegalStateException().isThrownBy(() -> memory.arrays(ElementType.INT));
    arrays.giveBack(array);
    assertThat(arrays.statistics())
        .returns(0L, ArrayPoolStatistics::rentedArrays)
        .returns(0L, ArrayPoolStatistics::idleArrays);
  }

  @Test
  void aPoolThatIsClosedEarlyTakesNothingOffWhatOnlyGrows() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      for (int round = 1; round <= 3; round++) {
        try (ArrayPool<int[]> arrays = memory.arrays(ElementType.INT)) {
          arrays.giveBack(arrays.rent(100));
          arrays.giveBack(arrays.rent(100));
          assertThat(memory.statistics())
              .returns((long) round, MemoryStatistics::poolMisses)
              .returns((long) round, MemoryStatistics::poolHits);
        }
        assertThat(memory.statistics())
            .returns((long) round, MemoryStatistics::poolHits)
            .returns(0L, MemoryStatistics::totalAllocated)
            .returns(0L, MemoryStatistics::totalPooled);
      }
    }
  }
}
