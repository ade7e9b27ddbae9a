package dev.tidepool.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.SpiCall;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

@DisplayName("Health")
class TidepoolHealthIndicatorTest {
  private static Health health(UnifiedMemoryManager memory, MemoryOptions options) {
    return new TidepoolHealthIndicator(memory, options).health();
  }

  @Test
  @DisplayName("is down when the device is lost")
  void deviceLost() {
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    MemoryOptions options = MemoryOptions.builder().watermarks(1).build();
    try (Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options))) {
      assertThat(health(tidepool.memory(), options).getStatus()).isEqualTo(Status.UP);
      faults.fail(SpiCall.WRITE, 1, Failure.DEVICE_LOST);
      Health lost = health(tidepool.memory(), options);
      assertThat(lost.getStatus()).isEqualTo(Status.DOWN);
      assertThat(lost.getDetails()).containsEntry("device", "does not answer");
    }
  }

  @Test
  @DisplayName("is down when nine tenths of the limit are in use, and up when that was idle")
  void memoryFull() {
    MemoryOptions options = MemoryOptions.builder().memoryLimit(10 << 20).build();
    try (UnifiedMemoryManager memory =
        Discovery.using(List.of(), () -> UnifiedMemoryManager.create(options))) {
      try (var large = memory.allocate(ElementType.BYTE, 9 << 20)) {
        assertThat(large.length()).isPositive();
        Health full = health(memory, options);
        assertThat(full.getStatus()).isEqualTo(Status.DOWN);
        assertThat(full.getDetails().get("problem").toString()).contains("of the memory is in use");
      }
      memory.synchronize();
      assertThat(health(memory, options).getStatus()).isEqualTo(Status.UP);
    }
  }

  @Test
  @DisplayName("is up with full memory that can be spilled, and down without the folder")
  void spillFolder(@TempDir Path folder) throws Exception {
    Path spill = Files.createDirectory(folder.resolve("spill"));
    MemoryOptions options =
        MemoryOptions.builder().memoryLimit(10 << 20).spillDirectory(spill).build();
    try (UnifiedMemoryManager memory =
            Discovery.using(List.of(), () -> UnifiedMemoryManager.create(options));
        var large = memory.allocate(ElementType.BYTE, 9 << 20)) {
      assertThat(large.length()).isPositive();
      Health spillable = health(memory, options);
      assertThat(spillable.getStatus()).isEqualTo(Status.UP);
      assertThat(spillable.getDetails()).containsKey("spillFreeBytes");
      Files.delete(spill);
      Health gone = health(memory, options);
      assertThat(gone.getStatus()).isEqualTo(Status.DOWN);
      assertThat(gone.getDetails().get("problem").toString()).contains(spill.toString());
    }
  }

  private static Health disk(long freeBytes) {
    Health.Builder health = new Health.Builder().up();
    TidepoolHealthIndicator.checkDisk(Path.of("spill"), freeBytes, 10_000, health);
    return health.build();
  }

  @Test
  @DisplayName("is down when less than a hundredth of the spill directory's disk is free")
  void diskFull() {
    assertThat(disk(100).getStatus()).isEqualTo(Status.UP);
    Health full = disk(99);
    assertThat(full.getStatus()).isEqualTo(Status.DOWN);
    assertThat(full.getDetails())
        .containsEntry("spillFreeBytes", 99L)
        .containsEntry("problem", "the disk of the spill directory spill is full");
  }

  @Test
  @DisplayName("is down, and no exception, when the manager is closed")
  void closed() {
    MemoryOptions options = MemoryOptions.defaults();
    UnifiedMemoryManager memory =
        Discovery.using(List.of(), () -> UnifiedMemoryManager.create(options));
    memory.close();
    assertThat(health(memory, options).getStatus()).isEqualTo(Status.DOWN);
  }
}
