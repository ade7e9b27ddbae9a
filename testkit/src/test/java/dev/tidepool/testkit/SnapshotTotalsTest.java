package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.diagnostics.Snapshot;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pooled, pinned, shared, spilled, lent and reserved memory in one snapshot. */
@DisplayName("The parts of a snapshot agree")
class SnapshotTotalsTest {
  private static final int MIB = 1 << 20;

  @TempDir private Path spill;

  private final List<UnifiedBuffer<?>> buffers = new ArrayList<>();

  @Test
  @DisplayName("on the processor")
  void onTheProcessor() {
    assertAgreement(List.of());
  }

  @Test
  @DisplayName("on a device with memory of its own")
  void onADevice() {
    assertAgreement(List.of(new SimulatedProvider(SimulatedHardware.discrete())));
  }

  private void assertAgreement(List<AcceleratorProvider> providers) {
    MemoryOptions options =
        MemoryOptions.builder()
            .diagnostics(DiagnosticsLevel.SITES)
            .siteSampling(1)
            .memoryLimit(24 * MIB)
            .spillDirectory(spill)
            .build();
    try (Tidepool tidepool = Discovery.using(providers, () -> Tidepool.open(options));
        Arena arena = Arena.ofShared()) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerators().getFirst());
      for (int i = 1; i <= 10; i++) {
        allocate(memory, 130 * i, MemoryLocation.DEVICE, "small");
      }
      allocate(memory, 10_000, MemoryLocation.PINNED, "pinned");
      allocate(memory, 10_000, MemoryLocation.HOST, "host");
      String shared = "totals-" + UUID.randomUUID();
      buffers.add(memory.createShared(ElementType.FLOAT, 5000, shared));
      buffers.add(
          memory.wrap(ElementType.FLOAT, arena.allocate(4000, 8), MemoryLocation.HOST, "wrapped"));
      UnifiedBuffer<float[]> bothSides =
          allocate(memory, 20_000, MemoryLocation.DEVICE, "both sides");
      bothSides.fill((byte) 1);
      assertThat(bothSides.asReadOnlySegment().byteSize()).isEqualTo(80_000);
      UnifiedBuffer<float[]> lent = allocate(memory, 3000, MemoryLocation.DEVICE, "lent");
      try (var access = memory.lend(NativeUse.readWrite(lent));
          var job = memory.reserve("job", 2 * MIB, Duration.ofSeconds(10));
          var arrays = memory.arrays(ElementType.FLOAT)) {
        assertThat(access.handle(lent)).isNotNull();
        buffers.add(job.allocate(ElementType.FLOAT, 1000));
        allocate(memory, 70_000, MemoryLocation.DEVICE, "").close();
        for (int i = 0; i < 12; i++) {
          allocate(memory, MIB / 2, MemoryLocation.DEVICE, "spilled").fill((byte) i);
        }
        float[] rented = arrays.rent(1000);
        // It gave its copy on the device up for the others.
        bothSides.prefetchToDevice();
        memory.synchronize();
        assertAgreement(memory, memory.snapshot(), 4L * rented.length);
        arrays.giveBack(rented);
      }
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  private UnifiedBuffer<float[]> allocate(
      UnifiedMemoryManager memory, long length, MemoryLocation location, String tag) {
    UnifiedBuffer<float[]> buffer =
        memory.allocate(ElementType.FLOAT, length, Allocation.at(location).tag(tag));
    buffers.add(buffer);
    return buffer;
  }

  private static void assertAgreement(
      UnifiedMemoryManager memory, Snapshot snapshot, long rentedBytes) {
    MemoryStatistics all = snapshot.statistics();
    assertThat(all.spilledBytes()).isPositive();
    assertThat(sum(snapshot.tags(), Snapshot.Tag::liveBytes))
        .isEqualTo(all.totalAllocated() - rentedBytes)
        .isEqualTo(sum(memory.buffers(), buffer -> buffer.byteSize()));
    assertThat(sum(snapshot.tags(), Snapshot.Tag::liveBuffers)).isEqualTo(all.activeBuffers());
    for (Snapshot.Tag tag : snapshot.tags()) {
      long rented = tag.name().isEmpty() ? rentedBytes : 0;
      assertThat(memory.bytesByTag()).containsEntry(tag.name(), tag.liveBytes() + rented);
      assertThat(bytes(snapshot, block -> isLive(block) && block.tag().equals(tag.name())))
          .as(tag.name())
          .isGreaterThanOrEqualTo(tag.liveBytes());
    }
    long reserved = 0;
    long idle = 0;
    for (int i = 0; i < snapshot.pools().size(); i++) {
      int pool = i;
      PoolStatistics figures = (PoolStatistics) snapshot.pools().get(i).statistics();
      reserved += figures.reservedBytes();
      idle += figures.idleBytes();
      assertThat(bytes(snapshot, block -> block.pool() == pool && isIdle(block)))
          .as("idle in %s", figures.name())
          .isEqualTo(figures.idleBytes());
      assertThat(bytes(snapshot, block -> block.pool() == pool && !isIdle(block)))
          .as("leased of %s", figures.name())
          .isEqualTo(figures.leasedBytes());
    }
    assertThat(reserved).isEqualTo(all.reservedBytes());
    assertThat(idle).isEqualTo(all.totalPooled());
    // Wrapped, shared, and what is in the spill file.
    assertThat(bytes(snapshot, block -> block.pool() == Snapshot.NO_POOL))
        .isEqualTo(4000 + 20_000 + all.spilledBytes());
    assertThat(snapshot.reservations())
        .singleElement()
        .satisfies(job -> assertThat(job.usedBytes()).isEqualTo(4000));
    assertThat(snapshot.blocks())
        .filteredOn(SnapshotTotalsTest::isLive)
        .allSatisfy(
            block -> assertThat(block.site()).startsWith(SnapshotTotalsTest.class.getName()));
  }

  private static boolean isLive(Snapshot.Block block) {
    return block.state() == Snapshot.State.LIVE;
  }

  private static boolean isIdle(Snapshot.Block block) {
    return block.state() == Snapshot.State.IDLE;
  }

  private static long bytes(Snapshot snapshot, Predicate<Snapshot.Block> which) {
    return sum(snapshot.blocks().stream().filter(which).toList(), Snapshot.Block::bytes);
  }

  private static <T> long sum(List<T> parts, ToLongFunction<T> bytes) {
    return parts.stream().mapToLong(bytes).sum();
  }
}
