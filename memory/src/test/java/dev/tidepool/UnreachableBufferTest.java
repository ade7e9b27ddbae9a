package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.diagnostics.DiagnosticsLevel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A buffer that becomes unreachable unclosed is noticed, reported and reclaimed. */
final class UnreachableBufferTest {
  private static final MemoryOptions EVERY_SITE =
      MemoryOptions.builder().diagnostics(DiagnosticsLevel.SITES).siteSampling(1).build();

  @RegisterExtension final LogLines log = new LogLines();

  @Test
  void aForgottenBufferIsReportedByItsTagAndItsBytesComeBack() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      leak(memory, 100);
      awaitReports(memory, 100);
      assertThat(memory.statistics().totalAllocated()).isZero();
      assertThat(memory.statistics().activeBuffers()).isZero();
      assertThat(log.all())
          .isNotEmpty()
          .allSatisfy(report -> assertThat(report).contains("'lost'"));
    }
  }

  @Test
  void fromLevelSitesOnTheReportNamesThePlaceThatAllocated() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(EVERY_SITE)) {
      leak(memory, 1);
      awaitReports(memory, 1);
      assertThat(log.all().getFirst()).contains("UnreachableBufferTest.leak");
    }
  }

  @Test
  void levelSitesTellsThePlaceOfLiveBuffers() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(EVERY_SITE);
        UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 1)) {
      assertThat(memory.buffers().getFirst().site()).contains("UnreachableBufferTest");
      assertThat(buffer.length()).isEqualTo(1);
    }
  }

  @Test
  void aBlockThatWasHandedOutAsASegmentIsClosedNotReused() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      MemorySegment stale = leakButKeepSegment(memory);
      awaitLeaks(memory, 1);
      assertThatThrownBy(() -> stale.get(ValueLayout.JAVA_BYTE, 0))
          .isInstanceOf(IllegalStateException.class);
      assertThat(memory.statistics().totalPooled()).isZero();
    }
  }

  @Test
  void whoHoldsAMappingsSegmentHoldsTheBuffer() throws InterruptedException {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      MemorySegment mapped = mapAndForget(memory);
      for (int i = 0; i < 5; i++) {
        System.gc();
        Thread.sleep(300);
        mapped.set(ValueLayout.JAVA_BYTE, 0, (byte) i);
      }
      assertThat(memory.statistics().leaks()).isZero();
    }
  }

  @Test
  void aSliceKeepsItsRoot() throws InterruptedException {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      UnifiedBuffer<int[]> slice = memory.copyOf(new int[] {1, 2, 3}).slice(1, 1);
      for (int i = 0; i < 3; i++) {
        System.gc();
        Thread.sleep(300);
      }
      int[] seen = new int[1];
      slice.copyTo(seen);
      assertThat(seen).containsExactly(2);
      assertThat(memory.statistics().leaks()).isZero();
    }
  }

  @Test
  void atTheParanoidLevelASegmentFailsAsSoonAsItsBufferIsClosed() {
    MemoryOptions options = MemoryOptions.builder().diagnostics(DiagnosticsLevel.PARANOID).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      MemorySegment segment;
      try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 10)) {
        segment = buffer.asSegment();
        segment.set(ValueLayout.JAVA_INT, 0, 1);
      }
      assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_INT, 0))
          .isInstanceOf(IllegalStateException.class);
    }
  }

  private static void leak(UnifiedMemoryManager memory, int count) {
    Allocation lost = Allocation.at(MemoryLocation.HOST).tag("lost");
    for (int i = 0; i < count; i++) {
      assertThat(memory.allocate(ElementType.FLOAT, 1000, lost).length()).isEqualTo(1000);
    }
  }

  private static MemorySegment leakButKeepSegment(UnifiedMemoryManager memory) {
    return memory.allocate(ElementType.BYTE, 1000).asSegment();
  }

  private static MemorySegment mapAndForget(UnifiedMemoryManager memory) {
    return memory.allocate(ElementType.BYTE, 1000).map(MapMode.READ_WRITE).segment();
  }

  /** Waits for the log too: a leak is counted before it is logged. */
  private void awaitReports(UnifiedMemoryManager memory, int count) {
    awaitLeaks(memory, count);
    await().atMost(Duration.ofSeconds(30)).until(() -> !log.all().isEmpty());
  }

  private static void awaitLeaks(UnifiedMemoryManager memory, int count) {
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              System.gc();
              return memory.statistics().leaks() == count;
            });
  }
}
