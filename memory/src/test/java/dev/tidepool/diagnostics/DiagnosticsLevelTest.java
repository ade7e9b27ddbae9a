package dev.tidepool.diagnostics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.StructOfArrays;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Each level records what it says, and nothing else. */
final class DiagnosticsLevelTest {
  public record Particle(float x, short tag) {}

  private static UnifiedMemoryManager at(DiagnosticsLevel level, long siteSampling) {
    return UnifiedMemoryManager.create(
        MemoryOptions.builder().diagnostics(level).siteSampling(siteSampling).build());
  }

  @Test
  void offCountsAsCountersDo() {
    try (UnifiedMemoryManager memory = at(DiagnosticsLevel.OFF, 1);
        PeakScope scope = memory.pushPeak("scope")) {
      for (int i = 0; i < 10; i++) {
        memory.allocate(ElementType.BYTE, 1000).close();
      }
      UnifiedBuffer<byte[]> small = memory.allocate(ElementType.BYTE, 1000);
      try (UnifiedBuffer<int[]> used = memory.copyOf(new int[500])) {
        MemoryStatistics now = memory.statistics();
        assertThat(now.totalAllocated()).isEqualTo(1000 + used.byteSize());
        assertThat(now.activeBuffers()).isEqualTo(2);
        assertThat(now.poolHits()).isGreaterThanOrEqualTo(10);
        assertThat(now.driverAllocations()).isGreaterThanOrEqualTo(1);
        assertThat(now.reservedBytes()).isGreaterThanOrEqualTo(now.totalAllocated());
        assertThat(now)
            .returns(12L, MemoryStatistics::totalAllocations)
            .returns(10L, MemoryStatistics::totalFreed)
            .returns(now.totalAllocated(), MemoryStatistics::peakUsage);
        assertThat(scope.peakBytes()).isEqualTo(now.totalAllocated());
        assertThat(memory.buffers()).hasSize(2).allMatch(buffer -> buffer.site().isEmpty());
      }
      small.close();
      assertThat(memory.statistics().totalAllocated()).isZero();
    }
  }

  @Test
  void aManagerAtOffClosesWhatIsOpen() {
    UnifiedBuffer<byte[]> open;
    UnifiedMemoryManager memory = at(DiagnosticsLevel.OFF, 1);
    open = memory.allocate(ElementType.BYTE, 1000);
    memory.allocate(ElementType.BYTE, 1000).fill((byte) 1);
    memory.close();
    assertThatThrownBy(open::length).isInstanceOf(IllegalStateException.class);
    assertThat(memory.statistics())
        .returns(0L, MemoryStatistics::activeBuffers)
        .returns(0L, MemoryStatistics::reservedBytes);
  }

  @Test
  void countersKnowNoSites() {
    try (UnifiedMemoryManager memory = at(DiagnosticsLevel.COUNTERS, 1);
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 1000)) {
      assertThat(buffer.length()).isEqualTo(1000);
      assertThat(memory.buffers().getFirst().site()).isEmpty();
    }
  }

  @Test
  void aSiteIsTheStackFromTheProgramsFirstFrameOn() {
    try (UnifiedMemoryManager memory = at(DiagnosticsLevel.SITES, 1);
        UnifiedBuffer<byte[]> buffer = outer(memory)) {
      assertThat(buffer.length()).isEqualTo(10);
      assertThat(memory.buffers().getFirst().site().lines())
          .hasSizeBetween(4, 16)
          .satisfies(
              frames -> {
                assertThat(frames.get(0)).contains("DiagnosticsLevelTest.inner(Diagnos", ".java:");
                assertThat(frames.get(1)).contains("DiagnosticsLevelTest.outer(");
                assertThat(frames.get(2)).contains("aSiteIsTheStackFromTheProgramsFirstFrameOn");
              });
    }
  }

  private static UnifiedBuffer<byte[]> outer(UnifiedMemoryManager memory) {
    return inner(memory);
  }

  private static UnifiedBuffer<byte[]> inner(UnifiedMemoryManager memory) {
    return memory.copyOf(new byte[10]);
  }

  @Test
  void theSiteOfAShortFormIsWhoCalledIt() {
    try (UnifiedMemoryManager memory = at(DiagnosticsLevel.SITES, 1);
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 10);
        StructOfArrays<Particle> columns = memory.allocateStructOfArrays(Particle.class, 10)) {
      assertThat(buffer.length()).isEqualTo(columns.length());
      assertThat(memory.buffers())
          .hasSize(3)
          .allSatisfy(
              info ->
                  assertThat(info.site())
                      .startsWith(
                          "dev.tidepool.diagnostics.DiagnosticsLevelTest.theSiteOfAShortForm"));
    }
  }

  @Test
  void theSiteOfAnAsynchronousAllocationIsWhoAskedForIt() {
    try (UnifiedMemoryManager memory = at(DiagnosticsLevel.SITES, 1);
        UnifiedBuffer<byte[]> buffer =
            memory.allocateAsync(ElementType.BYTE, 10, Allocation.at(MemoryLocation.HOST)).join()) {
      assertThat(buffer.length()).isEqualTo(10);
      assertThat(memory.buffers().getFirst().site())
          .startsWith(
              "dev.tidepool.diagnostics.DiagnosticsLevelTest.theSiteOfAnAsynchronousAllocation");
    }
  }

  @Test
  void sitesAreASampleAsDenseAsAskedFor() {
    assertThat(sampled(1)).isEqualTo(1000);
    assertThat(sampled(1L << 50)).isZero();
    // Fifty on average, so that none at all is out of the question.
    assertThat(sampled(20_000)).isBetween(1, 500);
  }

  private static int sampled(long siteSampling) {
    try (UnifiedMemoryManager memory = at(DiagnosticsLevel.SITES, siteSampling)) {
      List<UnifiedBuffer<?>> open = new ArrayList<>();
      for (int i = 0; i < 1000; i++) {
        open.add(memory.allocate(ElementType.BYTE, 1000));
      }
      long known = memory.buffers().stream().filter(buffer -> !buffer.site().isEmpty()).count();
      open.forEach(UnifiedBuffer::close);
      return (int) known;
    }
  }

  @Test
  void equalStacksShareOneText() {
    try (UnifiedMemoryManager memory = at(DiagnosticsLevel.SITES, 1)) {
      List<UnifiedBuffer<?>> open = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        open.add(memory.allocate(ElementType.BYTE, 1000));
      }
      List<BufferInfo> live = memory.buffers();
      assertThat(live.get(0).site()).isSameAs(live.get(1).site());
      open.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void paranoidKnowsTheSiteOfEveryBufferHoweverThinTheSample() {
    try (UnifiedMemoryManager memory = at(DiagnosticsLevel.PARANOID, 1L << 50);
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 0)) {
      assertThat(buffer.length()).isZero();
      assertThat(memory.buffers().getFirst().site()).contains("DiagnosticsLevelTest");
    }
  }
}
