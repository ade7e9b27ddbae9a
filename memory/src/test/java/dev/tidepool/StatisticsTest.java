package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.diagnostics.MemoryRates;
import dev.tidepool.diagnostics.PeakScope;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.pooling.SizeClassStatistics;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a manager tells of itself. */
final class StatisticsTest {
  private static Allocation tagged(String tag) {
    return Allocation.at(MemoryLocation.HOST).tag(tag);
  }

  @Test
  void liveBytesAreToldByTagLargestFirst() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<byte[]> small = memory.allocate(ElementType.BYTE, 10, tagged("small"));
        UnifiedBuffer<float[]> large = memory.allocate(ElementType.FLOAT, 100, tagged("large"));
        UnifiedBuffer<float[]> more = memory.allocate(ElementType.FLOAT, 50, tagged("large"));
        UnifiedBuffer<byte[]> nobody = memory.allocate(ElementType.BYTE, 20)) {
      large.fill((byte) 1);
      assertThat(memory.bytesByTag())
          .containsExactly(Map.entry("large", 600L), Map.entry("", 20L), Map.entry("small", 10L));
      more.close();
      float[] rented = memory.arrays(ElementType.FLOAT).rent(5);
      long rentedBytes = memory.statistics().totalAllocated() - 400 - 20 - 10;
      assertThat(rentedBytes).isGreaterThanOrEqualTo(20);
      assertThat(memory.bytesByTag()).containsEntry("", 20 + rentedBytes);
      memory.arrays(ElementType.FLOAT).giveBack(rented);
      assertThat(small.length() + nobody.length()).isEqualTo(30);
      small.close();
      large.close();
      nobody.close();
      assertThat(memory.bytesByTag()).isEmpty();
    }
  }

  @Test
  void eachPoolTellsWhatItHoldsBySizeClass() {
    // Other options than anybody's, so that the pool is this manager's alone.
    MemoryOptions options = MemoryOptions.builder().maxPoolBytesPerClass(123_456_789).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
        UnifiedBuffer<byte[]> held = memory.allocate(ElementType.BYTE, 100_000)) {
      for (int i = 0; i < 3; i++) {
        memory.allocate(ElementType.BYTE, 1 << 20).close();
      }
      PoolStatistics pool =
          memory.pools().stream().filter(each -> each.misses() > 0).findFirst().orElseThrow();
      assertThat(pool.name()).isEqualTo("host memory");
      assertThat(pool.reservedBytes()).isEqualTo(pool.idleBytes() + pool.leasedBytes());
      assertThat(pool.peakReserved()).isEqualTo(pool.reservedBytes());
      assertThat(pool.sizeClasses())
          .containsExactly(
              new SizeClassStatistics(106_496, 0, 1, 0, 0, 1, 106_496),
              new SizeClassStatistics(1 << 20, 2, 1, 1, 1 << 20, 0, 0));
      assertThat(pool.sizeClasses().getLast().hitRate()).isEqualTo(2.0 / 3);
      assertThat(held.length()).isEqualTo(100_000);
      memory.trimExcess();
      PoolStatistics trimmed =
          memory.pools().stream().filter(each -> each.misses() > 0).findFirst().orElseThrow();
      assertThat(trimmed.sizeClasses().getLast())
          .isEqualTo(new SizeClassStatistics(1 << 20, 2, 1, 0, 0, 0, 0));
      assertThat(trimmed.hits()).isEqualTo(2);
    }
  }

  @Test
  void ratesAreTheMeansBetweenTwoSnapshots() {
    MemoryStatistics zero = figures(10, 4, 1000, 400, Duration.ofSeconds(5));
    MemoryStatistics later = figures(30, 14, 5000, 2400, Duration.ofSeconds(7));
    assertThat(later.since(zero))
        .isEqualTo(new MemoryRates(Duration.ofSeconds(2), 10, 5, 2000, 1000));
    assertThat(zero.since(zero)).isEqualTo(new MemoryRates(Duration.ZERO, 0, 0, 0, 0));
    assertThatThrownBy(() -> zero.since(later))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("2000 ms before");
  }

  private static MemoryStatistics figures(
      long allocations, long frees, long bytes, long bytesFreed, Duration uptime) {
    return new MemoryStatistics(
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        allocations,
        frees,
        0,
        0,
        0,
        0,
        0,
        0,
        bytes,
        bytesFreed,
        uptime.toNanos(),
        0,
        0,
        0,
        0);
  }

  @Test
  void bytesAllocatedAndFreedAddUpToWhatLives() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      MemoryStatistics before = memory.statistics();
      memory.allocate(ElementType.BYTE, 1000).close();
      UnifiedBuffer<byte[]> held = memory.allocate(ElementType.BYTE, 300);
      MemoryStatistics now = memory.statistics();
      assertThat(now)
          .returns(1300L, MemoryStatistics::totalBytesAllocated)
          .returns(1000L, MemoryStatistics::totalBytesFreed)
          .returns(300L, MemoryStatistics::totalAllocated);
      assertThat(now.uptimeNanos()).isGreaterThan(before.uptimeNanos());
      assertThat(now.since(before).bytesAllocatedPerSecond()).isPositive();
      held.close();
    }
  }

  @Test
  void aBufferOverMemoryOfTheCallerCountsAsNoBlockOfAPool() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        Arena arena = Arena.ofShared()) {
      memory.wrap(ElementType.BYTE, arena.allocate(1000), MemoryLocation.HOST).close();
      assertThat(memory.statistics())
          .returns(1L, MemoryStatistics::totalAllocations)
          .returns(0L, MemoryStatistics::poolHits)
          .returns(0L, MemoryStatistics::poolMisses);
    }
  }

  @Test
  void aScopeTellsThePeakOfItsTimeAlone() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      memory.allocate(ElementType.BYTE, 1 << 20).close();
      UnifiedBuffer<byte[]> held = memory.allocate(ElementType.BYTE, 100);
      try (PeakScope outer = memory.pushPeak("outer")) {
        memory.allocate(ElementType.BYTE, 5000).close();
        try (PeakScope inner = memory.pushPeak("inner")) {
          List<UnifiedBuffer<?>> open = new ArrayList<>();
          for (int i = 0; i < 3; i++) {
            open.add(memory.allocate(ElementType.BYTE, 1000));
          }
          open.forEach(UnifiedBuffer::close);
          assertThat(inner.peakBytes()).isEqualTo(3100);
          assertThat(inner.name()).isEqualTo("inner");
        }
        assertThat(outer.peakBytes()).isEqualTo(5100);
      }
      assertThat(memory.statistics().peakUsage()).isEqualTo(1 << 20);
      held.close();
    }
  }

  @Test
  void aClosedManagerTellsNeitherPoolsNorTags() {
    UnifiedMemoryManager memory = UnifiedMemoryManager.create();
    memory.close();
    assertThatThrownBy(memory::pools).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(memory::bytesByTag).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> memory.pushPeak("late")).isInstanceOf(IllegalStateException.class);
  }
}
