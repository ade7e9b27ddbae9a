package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A device whose memory runs out, exactly when it says. */
class FullDeviceTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int FLOATS = MEBIBYTE / 4;

  private final SimulatedProvider simulated =
      new SimulatedProvider(
          SimulatedHardware.discrete().withMemory(4 * MEBIBYTE).withMaximumAllocation(MEBIBYTE));
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    tidepool = Discovery.using(List.of(simulated), Tidepool::open);
    memory = tidepool.memory();
  }

  @AfterEach
  void close() {
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  private static float[] contents(UnifiedBuffer<float[]> buffer) {
    float[] array = new float[Math.toIntExact(buffer.length())];
    buffer.copyTo(array);
    return array;
  }

  @Test
  void idlePooledBlocksMakeRoomForOtherSizes() {
    for (int i = 0; i < 4; i++) {
      memory.allocate(ElementType.FLOAT, FLOATS).close();
    }
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      buffers.add(memory.allocate(ElementType.FLOAT, FLOATS / 8));
    }
    assertThat(memory.statistics().activeBuffers()).isEqualTo(30);
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void idleDeviceCopiesAreEvictedAndNothingIsLost() {
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, FLOATS);
      buffer.copyFrom(Patterns.array(ElementType.FLOAT, FLOATS, i));
      buffers.add(buffer);
    }
    assertThat(memory.statistics().evictions()).isGreaterThanOrEqualTo(8);
    assertThat(buffers.getFirst().state()).isEqualTo(BufferState.HOST_ONLY);
    assertThat(buffers.getLast().state()).isEqualTo(BufferState.DEVICE_ONLY);
    Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
    for (UnifiedBuffer<float[]> buffer : buffers) {
      increment.execute(Arguments.of("y", buffer));
    }
    for (int i = 0; i < 12; i++) {
      float[] model = Patterns.array(ElementType.FLOAT, FLOATS, i);
      for (int j = 0; j < FLOATS; j++) {
        model[j] += 1;
      }
      Patterns.assertEqual(contents(buffers.get(i)), model, "buffer " + i);
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void aHostCopyThatWasHandedOutIsNotEvicted() {
    UnifiedBuffer<float[]> exposed = memory.allocate(ElementType.FLOAT, FLOATS);
    exposed.copyFrom(Patterns.array(ElementType.FLOAT, FLOATS, 1));
    var segment = exposed.asSegment();
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, FLOATS);
      buffer.fill((byte) 0);
      buffers.add(buffer);
    }
    float[] seen = new float[FLOATS];
    ElementType.FLOAT.read(segment, 0, seen, 0, FLOATS);
    Patterns.assertEqual(seen, Patterns.array(ElementType.FLOAT, FLOATS, 1), "the segment");
    buffers.forEach(UnifiedBuffer::close);
    exposed.close();
  }

  @Test
  void unreachableBuffersAreReclaimedBeforeMemoryRunsOut() {
    for (int i = 0; i < 40; i++) {
      memory.allocate(ElementType.FLOAT, FLOATS).fill((byte) i);
    }
    assertThat(memory.statistics().totalAllocations()).isEqualTo(40);
  }

  @Test
  void whatNoRungOfTheLadderCanGiveIsRefusedWithTheNumbers() {
    List<UnifiedBuffer<float[]>> inUse = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      inUse.add(memory.allocate(ElementType.FLOAT, FLOATS, MemoryLocation.UNIFIED));
    }
    assertThatThrownBy(() -> memory.allocate(ElementType.FLOAT, FLOATS, MemoryLocation.UNIFIED))
        .isInstanceOfSatisfying(
            OutOfDeviceMemoryException.class,
            e -> {
              assertThat(e.requestedBytes()).isEqualTo(MEBIBYTE);
              assertThat(e.totalBytes()).isEqualTo(4 * MEBIBYTE);
              assertThat(e.freeBytes()).isZero();
            });
    inUse.removeLast().close();
    inUse.add(memory.allocate(ElementType.FLOAT, FLOATS, MemoryLocation.UNIFIED));
    inUse.forEach(UnifiedBuffer::close);
  }
}
