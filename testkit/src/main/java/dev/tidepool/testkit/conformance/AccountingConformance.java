package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.BufferMetrics;
import dev.tidepool.transfer.TransferStatistics;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Statistics are consistent; named kernels run on the accelerator of their data. */
public abstract class AccountingConformance extends Topic {

  @Test
  void liveBytesAreThoseAskedForAndTheirPeakIsKept() {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    long live = 0;
    for (MemoryLocation location : bench().locations()) {
      for (int bytes : new int[] {1, 1000, 70_000}) {
        buffers.add(memory().allocate(ElementType.BYTE, bytes, location));
        live += bytes;
        assertThat(memory().statistics().totalAllocated()).isEqualTo(live);
        assertThat(memory().statistics().activeBuffers()).isEqualTo(buffers.size());
      }
    }
    assertThat(memory().buffers()).hasSize(buffers.size());
    assertThat(memory().buffers().stream().mapToLong(info -> info.byteSize()).sum())
        .isEqualTo(live);
    buffers.forEach(UnifiedBuffer::close);
    eventually("all are freed", () -> memory().statistics().activeBuffers() == 0);
    MemoryStatistics after = memory().statistics();
    assertThat(after.totalAllocated()).isZero();
    assertThat(after.peakUsage()).isEqualTo(live);
    assertThat(after.totalAllocations()).isEqualTo(buffers.size());
    assertThat(after.totalFreed()).isEqualTo(buffers.size());
    assertThat(memory().buffers()).isEmpty();
  }

  @Test
  void trimmingGivesIdleBytesBackAndSaysHowMany() {
    for (int bytes : new int[] {1000, 100_000, 1_000_000}) {
      memory().allocate(ElementType.BYTE, bytes).close();
    }
    long pooled = memory().statistics().totalPooled();
    assertThat(pooled).isGreaterThanOrEqualTo(1_101_000);
    assertThat(memory().trimExcess()).isEqualTo(pooled);
    assertThat(memory().statistics().totalPooled()).isZero();
    assertThat(memory().trimExcess()).isZero();
    assertThat(memory().fragmentation().isEstimate())
        .isEqualTo(memory().accelerator().memory().freeIsEstimate());
  }

  @Test
  void withoutPoolingNothingLiesIdle() {
    UnifiedMemoryManager plain =
        bench().manager(bench().accelerator(), MemoryOptions.builder().pooling(false).build());
    for (MemoryLocation location : bench().locations()) {
      plain.allocate(ElementType.BYTE, 10_000, location).close();
    }
    assertThat(plain.statistics().totalPooled()).isZero();
    assertThat(plain.statistics().poolHits()).isZero();
  }

  @Test
  void hitsAndMissesAreEveryBlockThatWasNeeded() {
    for (int i = 0; i < 10; i++) {
      memory().allocate(ElementType.BYTE, 5000).close();
    }
    MemoryStatistics statistics = memory().statistics();
    assertThat(statistics.poolMisses()).isEqualTo(1);
    assertThat(statistics.poolHits()).isEqualTo(9);
    assertThat(statistics.hitRate()).isEqualTo(0.9);
  }

  @Test
  void copiesAreCountedByDirection() {
    UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, 10_000, MemoryLocation.DEVICE);
    TransferStatistics before = bench().moved();
    Instant start = Instant.now();
    buffer.copyFrom(pattern(10_000, 1));
    buffer.copyFrom(pattern(100, 2), 0, 50, 100);
    Patterns.assertEqual(
        contents(buffer),
        Patterns.overlaid(ElementType.FLOAT, pattern(10_000, 1), 50, pattern(100, 2)),
        "copied");
    TransferStatistics after = bench().moved();
    BufferMetrics metrics = buffer.metrics();
    long moved = bench().sharesMemory() ? 0 : 1;
    assertThat(after.hostToDeviceBytes() - before.hostToDeviceBytes()).isEqualTo(moved * 40_400);
    assertThat(after.deviceToHostBytes() - before.deviceToHostBytes()).isEqualTo(moved * 40_000);
    assertThat(after.hostToDeviceTransfers() - before.hostToDeviceTransfers()).isEqualTo(moved * 2);
    assertThat(after.deviceToHostTransfers() - before.deviceToHostTransfers()).isEqualTo(moved);
    assertThat(metrics.hostToDeviceBytes()).isEqualTo(moved * 40_400);
    assertThat(metrics.deviceToHostBytes()).isEqualTo(moved * 40_000);
    assertThat(metrics.transfers()).isEqualTo(moved * 3);
    assertThat(metrics.lastAccess()).isBetween(start.minusSeconds(1), Instant.now());
    assertThat(metrics.transferTime().isPositive()).isEqualTo(moved > 0);
    assertThat(metrics.averageBandwidth() > 0).isEqualTo(moved > 0);
  }

  @Test
  void anAccessThatFindsItsBytesIsAHitAndOneThatMovesThemAMiss() {
    UnifiedBuffer<float[]> buffer = patterned(10_000, MemoryLocation.DEVICE, 1);
    BufferMetrics before = buffer.metrics();
    buffer.asReadOnlySegment();
    BufferMetrics fetched = buffer.metrics();
    buffer.asReadOnlySegment();
    BufferMetrics again = buffer.metrics();
    long moved = bench().sharesMemory() ? 0 : 1;
    assertThat(fetched.misses() - before.misses()).isEqualTo(moved);
    assertThat(again.misses()).isEqualTo(fetched.misses());
    assertThat(again.hits()).isEqualTo(fetched.hits() + 1);
  }

  @Test
  void aCopyIsOneAccessOfEachBuffer() {
    List<UnifiedMemoryManager> managers = new ArrayList<>(bench().otherManagers());
    managers.add(memory());
    for (UnifiedMemoryManager other : managers) {
      for (MemoryLocation location : List.of(MemoryLocation.DEVICE, MemoryLocation.HOST)) {
        UnifiedBuffer<float[]> source = patterned(10_000, MemoryLocation.DEVICE, 1);
        try (UnifiedBuffer<float[]> target = other.allocate(ElementType.FLOAT, 10_000, location)) {
          target.copyFrom(pattern(10_000, 2));
          long ofSource = accesses(source);
          long ofTarget = accesses(target);
          target.copyFrom(source);
          String where = location + " of " + other.accelerator().id();
          assertThat(accesses(source) - ofSource).as("source, to " + where).isEqualTo(1);
          assertThat(accesses(target) - ofTarget).as("target, " + where).isEqualTo(1);
        }
      }
    }
  }

  private static long accesses(UnifiedBuffer<?> buffer) {
    return buffer.metrics().hits() + buffer.metrics().misses();
  }

  @Test
  void aSliceAnswersForItsRoot() {
    UnifiedBuffer<float[]> root = patterned(1000, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> slice = bench().owned(root.slice(10, 10));
    slice.copyFrom(new float[10]);
    assertThat(slice.metrics().hostToDeviceBytes())
        .isEqualTo(root.metrics().hostToDeviceBytes())
        .isEqualTo(bench().sharesMemory() ? 0 : 4040);
  }

  @Test
  void pinnedBytesAreCountedAndBoundedAndTheRestIsPlainMemory() {
    Tidepool tidepool = bench().tidepool();
    UnifiedMemoryManager manager =
        bench().manager(tidepool.accelerator(bench().accelerator().id()), MemoryOptions.defaults());
    long before = manager.statistics().pinnedFallbacks();
    long pinned = manager.statistics().pinnedBytes();
    UnifiedBuffer<float[]> buffer =
        bench()
            .owned(
                manager.allocate(ElementType.FLOAT, 50_000, Allocation.at(MemoryLocation.PINNED)));
    buffer.copyFrom(pattern(50_000, 1));
    Patterns.assertEqual(contents(buffer), pattern(50_000, 1), "pinned or not");
    boolean fellBack = manager.statistics().pinnedFallbacks() > before;
    assertThat(manager.statistics().pinnedBytes() - pinned)
        .satisfies(
            bytes -> {
              if (fellBack) {
                assertThat(bytes).isZero();
              } else {
                assertThat(bytes).isGreaterThanOrEqualTo(200_000);
              }
            });
  }

  @Test
  void aKernelByNameRunsOnTheAcceleratorOfItsData() {
    bench().assumeCompiler();
    Tidepool tidepool = bench().tidepool();
    String name = "scale " + System.nanoTime();
    tidepool.orchestrator().register(name, KernelSource.elementwise("y = a * x"));
    assertThat(tidepool.orchestrator().names()).contains(name);
    UnifiedMemoryManager manager = tidepool.memory(bench().accelerator());
    try (UnifiedBuffer<float[]> x = manager.copyOf(pattern(5000, 1));
        UnifiedBuffer<float[]> y = manager.allocate(ElementType.FLOAT, 5000)) {
      TransferStatistics before = manager.transfers().statistics();
      tidepool.orchestrator().execute(name, Arguments.of("a", 2, "x", x, "y", y));
      TransferStatistics after = manager.transfers().statistics();
      assertThat(after.hostToDeviceBytes()).isEqualTo(before.hostToDeviceBytes());
      assertThat(after.deviceToHostBytes()).isEqualTo(before.deviceToHostBytes());
      float[] expected = pattern(5000, 1);
      for (int i = 0; i < 5000; i++) {
        expected[i] *= 2;
      }
      Patterns.assertEqual(contents(y), expected, "where the data is");
      float[] out = new float[5000];
      tidepool
          .orchestrator()
          .executeAsync(
              name,
              Arguments.of("a", 2, "x", pattern(5000, 1), "y", out),
              ExecutionOptions.defaults().on(bench().accelerator().id()))
          .join();
      Patterns.assertEqual(out, expected, "where it was asked for");
    }
  }
}
