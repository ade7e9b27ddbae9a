package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.MemoryPressure;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A device with room to spare, and a manager that may not use it all. */
class LimitedDeviceTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final long LIMIT = 8L * MEBIBYTE;

  private final SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    MemoryOptions options = MemoryOptions.builder().memoryLimit(LIMIT).build();
    tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options));
    memory = tidepool.memory();
  }

  @AfterEach
  void close() {
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  private List<UnifiedBuffer<byte[]>> fill(int count) {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      buffers.add(memory.allocate(ElementType.BYTE, MEBIBYTE));
    }
    return buffers;
  }

  @Test
  void bytesStillMoveWhereTheLimitIsReached() {
    List<UnifiedBuffer<byte[]>> buffers = fill(8);
    assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 1))
        .isInstanceOf(OutOfDeviceMemoryException.class);
    for (int i = 0; i < 8; i++) {
      buffers.get(i).copyFrom(Patterns.array(ElementType.BYTE, MEBIBYTE, i));
    }
    for (int i = 0; i < 8; i++) {
      byte[] seen = new byte[MEBIBYTE];
      buffers.get(i).copyTo(seen);
      Patterns.assertEqual(seen, Patterns.array(ElementType.BYTE, MEBIBYTE, i), "buffer " + i);
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void secondCopiesCountAndAreGivenUpBeforeAnythingIsRefused() {
    List<UnifiedBuffer<byte[]>> buffers = fill(4);
    for (int i = 0; i < 4; i++) {
      buffers.get(i).copyFrom(Patterns.array(ElementType.BYTE, MEBIBYTE, i));
      buffers.get(i).synchronize();
    }
    memory.trimExcess();
    assertThat(memory.statistics().reservedBytes()).isEqualTo(LIMIT);
    buffers.addAll(fill(4));
    assertThat(memory.statistics().reservedBytes()).isEqualTo(LIMIT);
    assertThat(buffers.subList(0, 4)).allMatch(buffer -> buffer.state() == BufferState.HOST_ONLY);
    assertThatThrownBy(() -> fill(1)).isInstanceOf(OutOfDeviceMemoryException.class);
    for (int i = 0; i < 4; i++) {
      byte[] seen = new byte[MEBIBYTE];
      buffers.get(i).copyTo(seen);
      Patterns.assertEqual(seen, Patterns.array(ElementType.BYTE, MEBIBYTE, i), "buffer " + i);
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void secondCopiesAreGivenUpForMemoryOfTheHostToo() {
    List<UnifiedBuffer<byte[]>> buffers = fill(4);
    buffers.forEach(UnifiedBuffer::synchronize);
    memory.trimExcess();
    assertThat(memory.statistics().reservedBytes()).isEqualTo(LIMIT);
    buffers.add(memory.allocate(ElementType.BYTE, MEBIBYTE, MemoryLocation.HOST));
    assertThat(memory.statistics().evictions()).isOne();
    assertThat(memory.statistics().reservedBytes()).isEqualTo(LIMIT);
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void everyKindOfMemoryCountsInOneLimit() {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    for (MemoryLocation location : MemoryLocation.values()) {
      buffers.add(memory.allocate(ElementType.BYTE, 2 * MEBIBYTE, location));
    }
    for (MemoryLocation location : MemoryLocation.values()) {
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 1, location))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("8 MiB used of the memory-limit of 8 MiB");
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void whatTheDriverRefusesDoesNotCount() {
    SimulatedProvider small =
        new SimulatedProvider(
            SimulatedHardware.discrete().withMemory(4L * MEBIBYTE).withMaximumAllocation(LIMIT));
    MemoryOptions options = MemoryOptions.builder().memoryLimit(LIMIT).build();
    try (Tidepool limited = Discovery.using(List.of(small), () -> Tidepool.open(options))) {
      for (int i = 0; i < 3; i++) {
        assertThatThrownBy(() -> limited.memory().allocate(ElementType.BYTE, 6 * MEBIBYTE))
            .isInstanceOf(OutOfDeviceMemoryException.class)
            .hasMessageContaining("0 bytes used of the memory-limit of 8 MiB");
      }
      limited.memory().allocate(ElementType.BYTE, 3 * MEBIBYTE).close();
    }
  }

  @Test
  void aDeviceThatSomebodyElseFillsIsToldOf() {
    ConcurrentLinkedQueue<MemoryPressure> heard = new ConcurrentLinkedQueue<>();
    MemoryOptions options =
        MemoryOptions.builder().pressureListener(heard::add).watermarks().build();
    SimulatedProvider small =
        new SimulatedProvider(SimulatedHardware.discrete().withMemory(10L * MEBIBYTE));
    try (Tidepool listening = Discovery.using(List.of(small), () -> Tidepool.open(options))) {
      assertThat(listening.memory().statistics().activeBuffers()).isZero();
      // Another user of the device, which no manager knows.
      List<Block> others = new ArrayList<>();
      for (int i = 0; i < 19; i++) {
        others.add(small.device("simulated:0").allocate(MEBIBYTE / 2, 64, BlockKind.DEVICE));
      }
      await().until(() -> !heard.isEmpty());
      others.forEach(Block::free);
      assertThat(heard)
          .containsExactly(
              new MemoryPressure(
                  MemoryPressure.Source.DEVICE,
                  "simulated:0",
                  0.9,
                  heard.element().usedBytes(),
                  10L * MEBIBYTE));
      assertThat(heard.element().usedBytes()).isGreaterThanOrEqualTo(9L * MEBIBYTE);
    }
  }
}
