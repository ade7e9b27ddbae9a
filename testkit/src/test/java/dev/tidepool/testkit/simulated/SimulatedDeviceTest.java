package dev.tidepool.testkit.simulated;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.SpiCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SimulatedDeviceTest {
  private static SimulatedProvider provider(SimulatedHardware... hardware) {
    return new SimulatedProvider(hardware);
  }

  private static Device open(SimulatedProvider provider) {
    return provider.discover().devices().getFirst();
  }

  private static void done(Event event) {
    event.await();
    assertThat(event.isDone()).isTrue();
    event.close();
  }

  private static MemorySegment pattern(Arena arena, int bytes) {
    MemorySegment segment = arena.allocate(bytes, 8);
    for (int i = 0; i < bytes; i++) {
      segment.set(JAVA_BYTE, i, (byte) (i * 31 + 7));
    }
    return segment;
  }

  @Test
  void bytesTravelToADeviceThatTheHostDoesNotReachAndBack() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete());
    try (Device device = open(provider);
        Arena arena = Arena.ofShared()) {
      Queue queue = device.createQueue();
      Block a = device.allocate(10_000, 64, BlockKind.DEVICE);
      Block b = device.allocate(10_000, 64, BlockKind.DEVICE);
      assertThat(a.hostAccess()).isEqualTo(HostAccess.NONE);
      assertThat(a.segment()).isNull();
      MemorySegment source = pattern(arena, 5000);
      MemorySegment target = arena.allocate(5000);
      done(queue.write(source, a, 333));
      done(queue.copy(a, 333, b, 4444, 5000));
      done(queue.read(b, 4444, target));
      assertThat(source.mismatch(target)).isEqualTo(-1);
      done(queue.fill(b, 4444, 10, (byte) 9));
      done(queue.read(b, 4444, target));
      assertThat(target.get(JAVA_BYTE, 9)).isEqualTo((byte) 9);
      assertThat(target.get(JAVA_BYTE, 10)).isEqualTo(source.get(JAVA_BYTE, 10));
      a.free();
      b.free();
      queue.close();
    }
    DriverLedger ledger = provider.devices().getFirst().ledger();
    assertThat(ledger.hostToDeviceBytes()).isEqualTo(5000);
    assertThat(ledger.deviceToHostBytes()).isEqualTo(10_000);
    assertThat(ledger.deviceToDeviceBytes()).isEqualTo(5000);
    assertThat(ledger.calls(SpiCall.WRITE)).isEqualTo(1);
    assertThat(ledger.calls(SpiCall.READ)).isEqualTo(2);
    assertThat(ledger.calls(SpiCall.ALLOCATE)).isEqualTo(2);
    assertThat(ledger.calls(SpiCall.FREE)).isEqualTo(2);
    assertThat(provider.violations()).isEmpty();
  }

  @Test
  void freeMemoryIsExactAndNoMoreThanThatIsGiven() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete().withMemory(10_000));
    try (Device device = open(provider)) {
      Block a = device.allocate(5000, 1, BlockKind.DEVICE);
      Block b = device.allocate(4000, 1, BlockKind.UNIFIED);
      assertThat(device.memory().freeBytes()).isEqualTo(1000);
      assertThat(device.memory().freeIsEstimate()).isFalse();
      assertThatThrownBy(() -> device.allocate(1001, 1, BlockKind.DEVICE))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("1000")
          .hasMessageContaining("1001");
      a.free();
      b.free();
      assertThat(device.memory().freeBytes()).isEqualTo(10_000);
    }
    assertThat(provider.violations()).isEmpty();
  }

  @Test
  void commandsRunBehindTheCallersBackAndInOrder() {
    SimulatedProvider provider =
        provider(SimulatedHardware.discrete().withLatency(Duration.ofMillis(1)));
    try (Device device = open(provider);
        Arena arena = Arena.ofShared()) {
      SimulatedDevice simulated = provider.devices().getFirst();
      Queue queue = device.createQueue();
      Queue other = device.createQueue();
      Block block = device.allocate(100, 1, BlockKind.DEVICE);
      MemorySegment target = arena.allocate(100);
      simulated.pause();
      Event first = queue.fill(block, 0, 100, (byte) 1);
      Event second = queue.fill(block, 0, 100, (byte) 2);
      other.after(second);
      Event read = other.read(block, 0, target);
      assertThat(first.isDone() || second.isDone() || read.isDone()).isFalse();
      simulated.resume();
      read.await();
      assertThat(first.isDone() && second.isDone()).isTrue();
      assertThat(target.get(JAVA_BYTE, 99)).isEqualTo((byte) 2);
      List.of(first, second, read).forEach(Event::close);
      queue.finish();
      block.free();
      queue.close();
      other.close();
    }
    assertThat(provider.violations()).isEmpty();
  }

  @Test
  void mappedMemoryIsTheHostsOnlyBetweenAcquireAndRelease() {
    SimulatedProvider provider =
        provider(SimulatedHardware.discrete().withHostAccess(HostAccess.MAPPED));
    try (Device device = open(provider)) {
      Queue queue = device.createQueue();
      Block block = device.allocate(1000, 1, BlockKind.DEVICE);
      done(queue.fill(block, 0, 1000, (byte) 5));
      MemorySegment segment = block.segment();
      assertThat(segment.get(JAVA_BYTE, 0))
          .as("unacquired bytes are poison")
          .isNotEqualTo((byte) 5);
      done(queue.acquire(block));
      assertThat(segment.get(JAVA_BYTE, 999)).isEqualTo((byte) 5);
      segment.set(JAVA_BYTE, 0, (byte) 6);
      done(queue.release(block));
      done(queue.acquire(block));
      assertThat(segment.get(JAVA_BYTE, 0)).isEqualTo((byte) 6);
      done(queue.release(block));
      assertThat(provider.violations()).isEmpty();
      segment.set(JAVA_BYTE, 7, (byte) 1);
      Event used = queue.fill(block, 0, 1, (byte) 0);
      done(used);
      done(queue.acquire(block));
      Event whileAcquired = queue.fill(block, 0, 1, (byte) 0);
      assertThatThrownBy(whileAcquired::await).isInstanceOf(AcceleratorException.class);
      whileAcquired.close();
      block.free();
      queue.close();
    }
    assertThat(provider.violations())
        .hasSize(2)
        .anySatisfy(line -> assertThat(line).contains("wrote to byte 7"))
        .anySatisfy(line -> assertThat(line).contains("while the host has it acquired"));
  }

  @Test
  void whatARealDriverWouldPunishIsReported() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete());
    Arena arena = Arena.ofShared();
    try (Device device = open(provider)) {
      SimulatedDevice simulated = provider.devices().getFirst();
      Queue queue = device.createQueue();
      Block block = device.allocate(100, 1, BlockKind.DEVICE);
      Block pending = device.allocate(100, 1, BlockKind.DEVICE);
      MemorySegment segment = arena.allocate(101);
      assertThatThrownBy(() -> queue.write(segment, block, 0)).hasMessageContaining("out of");
      assertThatThrownBy(() -> queue.write(MemorySegment.ofArray(new byte[3]), block, 0))
          .hasMessageContaining("heap");
      assertThatThrownBy(() -> queue.copy(block, 0, block, 50, 51)).hasMessageContaining("out of");
      assertThatThrownBy(() -> queue.copy(block, 0, block, 40, 50))
          .hasMessageContaining("overlaps");
      simulated.pause();
      Event event = queue.fill(pending, 0, 100, (byte) 0);
      pending.free();
      simulated.resume();
      done(event);
      event.close();
      block.free();
      assertThatThrownBy(block::free).hasMessageContaining("twice");
      assertThatThrownBy(() -> queue.fill(block, 0, 1, (byte) 0)).hasMessageContaining("freed");
      device.allocate(7, 1, BlockKind.PINNED);
      device.createQueue();
    } finally {
      arena.close();
    }
    assertThat(provider.violations())
        .hasSize(10)
        .anySatisfy(line -> assertThat(line).contains("freed while 1 commands use it"))
        .anySatisfy(line -> assertThat(line).contains("an event is closed twice"))
        .anySatisfy(line -> assertThat(line).contains("blocks alive").contains("PINNED"))
        .anySatisfy(line -> assertThat(line).contains("queues alive"))
        .allSatisfy(line -> assertThat(line).contains(getClass().getSimpleName()));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aCommandWhoseHostMemoryWentAwayFailsInsteadOfCrashing(boolean traced) {
    SimulatedHardware hardware = SimulatedHardware.discrete();
    SimulatedProvider provider = provider(traced ? hardware : hardware.withoutTraces());
    try (Device device = open(provider)) {
      SimulatedDevice simulated = provider.devices().getFirst();
      Queue queue = device.createQueue();
      Block block = device.allocate(100, 1, BlockKind.DEVICE);
      Arena arena = Arena.ofShared();
      MemorySegment segment = arena.allocate(100);
      simulated.pause();
      Event event = queue.write(segment, block, 0);
      arena.close();
      simulated.resume();
      assertThatThrownBy(event::await).isInstanceOf(AcceleratorException.class);
      event.close();
      block.free();
      queue.close();
    }
    assertThat(provider.violations()).hasSize(1).first().asString().contains("closed before");
    assertThat(provider.violations().getFirst().contains("SimulatedDeviceTest")).isEqualTo(traced);
  }

  @Test
  void callsOfAClosedDeviceAreReported() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete());
    Device device = open(provider);
    device.close();
    KernelSource source = KernelSource.elementwise("y = x");
    assertThatThrownBy(() -> device.allocate(10, 8, BlockKind.DEVICE))
        .hasMessageContaining("allocate on a closed device");
    assertThatThrownBy(device::createQueue).hasMessageContaining("createQueue on a closed device");
    assertThatThrownBy(() -> device.compile(source, List.of()))
        .hasMessageContaining("compile on a closed device");
    assertThat(provider.violations()).hasSize(3);
  }

  @Test
  void elementwiseSourcesComputeOverTheDevicesMemory() {
    SimulatedProvider provider = provider(SimulatedHardware.discrete());
    try (Device device = open(provider);
        Arena arena = Arena.ofShared()) {
      Queue queue = device.createQueue();
      Block x = device.allocate(4000, 4, BlockKind.DEVICE);
      Block y = device.allocate(4004, 4, BlockKind.DEVICE);
      MemorySegment host = arena.allocate(4000, 4);
      for (int i = 0; i < 1000; i++) {
        host.setAtIndex(JAVA_FLOAT, i, i);
      }
      done(queue.write(host, x, 0));
      Program program =
          device.compile(
              KernelSource.elementwise("y = a * x + 1"),
              List.of(
                  KernelParameter.scalar("a", ElementType.DOUBLE),
                  KernelParameter.in("x", ElementType.FLOAT),
                  KernelParameter.out("y", ElementType.FLOAT)));
      done(
          queue.launch(
              new Launch(
                  program,
                  List.of(
                      new KernelArgument.Scalar(2.0),
                      new KernelArgument.Array(x, 0, 4000),
                      new KernelArgument.Array(y, 1, 4000)),
                  LaunchRange.of(1000))));
      done(queue.read(y, 1, host));
      assertThat(host.getAtIndex(JAVA_FLOAT, 999)).isEqualTo(1999);
      assertThatThrownBy(
              () ->
                  queue.launch(
                      new Launch(
                          program,
                          List.of(
                              new KernelArgument.Scalar(2.0),
                              new KernelArgument.Array(x, 0, 3996),
                              new KernelArgument.Array(y, 0, 4000)),
                          LaunchRange.of(1000))))
          .hasMessageContaining("3996");
      program.close();
      x.free();
      y.free();
      queue.close();
    }
    assertThat(provider.violations()).hasSize(1);
  }

  @Test
  void devicesOfOneProviderAreEachOthersPeersUnlessToldOtherwise() {
    SimulatedProvider provider =
        provider(SimulatedHardware.discrete(), SimulatedHardware.discrete().withoutPeers());
    List<Device> devices = provider.discover().devices();
    Device one = devices.get(0);
    Device two = devices.get(1);
    assertThat(one.copiesFrom(two)).isTrue();
    assertThat(two.copiesFrom(one)).isFalse();
    assertThat(two.copiesFrom(two)).isTrue();
    devices.forEach(Device::close);
  }
}
