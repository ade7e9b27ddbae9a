package dev.tidepool.testkit.fault;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.SpiCall;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FaultInjectorTest {
  private final SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
  private final FaultInjector faults = new FaultInjector(simulated);
  private final Arena arena = Arena.ofShared();
  private Device device;
  private Queue queue;
  private Block block;

  @BeforeEach
  void open() {
    device = faults.discover().devices().getFirst();
    queue = device.createQueue();
    block = device.allocate(100, 1, BlockKind.DEVICE);
  }

  @AfterEach
  void nothingLeaksWhateverFailed() {
    queue.close();
    device.close();
    arena.close();
    assertThat(simulated.violations()).isEmpty();
  }

  private static void done(Event event) {
    try (event) {
      event.await();
    }
  }

  @Test
  void unarmedItCountsAndChangesNothing() {
    long before = faults.calls();
    done(queue.fill(block, 0, 100, (byte) 4));
    MemorySegment host = arena.allocate(100);
    done(queue.read(block, 0, host));
    block.free();
    assertThat(host.get(JAVA_BYTE, 99)).isEqualTo((byte) 4);
    assertThat(faults.calls() - before).as("fill, read, two awaits, free").isEqualTo(5);
    assertThat(faults.callsByKind()).containsEntry(SpiCall.CLOSE_EVENT, 2L);
    assertThat(faults.fired()).isEmpty();
  }

  @Test
  void theChosenAllocationIsOutOfMemoryAndTheNextIsNot() {
    faults.fail(SpiCall.ALLOCATE, 2, Failure.REFUSED);
    Block second = device.allocate(10, 1, BlockKind.DEVICE);
    assertThatThrownBy(() -> device.allocate(10, 1, BlockKind.DEVICE))
        .isInstanceOf(OutOfDeviceMemoryException.class);
    assertThat(faults.fired()).contains(SpiCall.ALLOCATE);
    device.allocate(10, 1, BlockKind.DEVICE).free();
    second.free();
    block.free();
  }

  @Test
  void aRefusedCommandDoesNothingAndABrokenOneHalf() {
    MemorySegment host = arena.allocate(100);
    done(queue.fill(block, 0, 100, (byte) 1));
    faults.fail(SpiCall.FILL, 1, Failure.REFUSED);
    assertThatThrownBy(() -> queue.fill(block, 0, 100, (byte) 2))
        .isInstanceOf(AcceleratorException.class)
        .hasMessageContaining("INJECTED_FAULT");
    done(queue.read(block, 0, host));
    assertThat(host.get(JAVA_BYTE, 0)).isEqualTo((byte) 1);
    faults.fail(1, Failure.BROKEN);
    Event broken = queue.fill(block, 0, 100, (byte) 3);
    assertThatThrownBy(broken::await).isInstanceOf(AcceleratorException.class);
    assertThatThrownBy(broken::await).isInstanceOf(AcceleratorException.class);
    broken.close();
    done(queue.read(block, 0, host));
    assertThat(host.get(JAVA_BYTE, 49)).isEqualTo((byte) 3);
    assertThat(host.get(JAVA_BYTE, 50)).isEqualTo((byte) 1);
    block.free();
  }

  @Test
  void aRefusedAwaitIsForGoodAndComesWhenTheCommandHasEnded() {
    faults.fail(SpiCall.EVENT_AWAIT, 1, Failure.REFUSED);
    Event event = queue.fill(block, 0, 100, (byte) 2);
    assertThatThrownBy(event::await).isInstanceOf(AcceleratorException.class);
    assertThat(event.isDone()).isTrue();
    assertThatThrownBy(event::await).isInstanceOf(AcceleratorException.class);
    event.close();
    block.free();
  }

  @Test
  void aBlockWhoseFreeFailsIsGoneAllTheSame() {
    faults.fail(SpiCall.FREE, 1, Failure.REFUSED);
    assertThatThrownBy(block::free).isInstanceOf(AcceleratorException.class);
    assertThat(device.memory().freeBytes()).isEqualTo(device.memory().totalBytes());
  }

  @Test
  void onALostDeviceEverythingFailsButClosing() {
    Event pending = queue.fill(block, 0, 100, (byte) 2);
    faults.fail(SpiCall.WRITE, 1, Failure.DEVICE_LOST);
    MemorySegment host = arena.allocate(10);
    assertThatThrownBy(() -> queue.write(host, block, 0)).hasMessageContaining("DEVICE_LOST");
    assertThatThrownBy(() -> queue.read(block, 0, host)).hasMessageContaining("DEVICE_LOST");
    assertThatThrownBy(pending::await).hasMessageContaining("DEVICE_LOST");
    assertThatThrownBy(() -> device.allocate(1, 1, BlockKind.DEVICE))
        .isInstanceOf(AcceleratorException.class);
    assertThatThrownBy(device::createQueue).isInstanceOf(AcceleratorException.class);
    assertThatThrownBy(block::free).isInstanceOf(AcceleratorException.class);
    queue.finish();
    pending.close();
  }
}
