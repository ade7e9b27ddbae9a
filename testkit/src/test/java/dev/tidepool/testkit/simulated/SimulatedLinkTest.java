package dev.tidepool.testkit.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.SpiCall;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SimulatedLinkTest {
  private static final Speed MEBIBYTE_A_MILLISECOND = Speed.of(10, 1000);

  @Test
  void aCommandTakesItsLatencyAndItsBytesByTheBandwidth() {
    Wire wire = new Wire(0);
    long end = wire.reserve(1000, MEBIBYTE_A_MILLISECOND, 1 << 20);
    assertThat(end).isEqualTo(1000 + 10_000 + 1_000_000);
  }

  @Test
  void commandsOfSeveralQueuesShareTheBandwidthButNotTheLatency() {
    Wire wire = new Wire(0);
    wire.reserve(0, MEBIBYTE_A_MILLISECOND, 1 << 20);
    long second = wire.reserve(0, MEBIBYTE_A_MILLISECOND, 1 << 20);
    long later = wire.reserve(5_000_000, MEBIBYTE_A_MILLISECOND, 0);
    assertThat(second).isEqualTo(10_000 + 2_000_000);
    assertThat(later).as("the wire was idle").isEqualTo(5_010_000);
  }

  @Test
  void aSpeedIsNotNegative() {
    assertThatThrownBy(() -> Speed.of(-1, 0)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Speed.of(0, -1)).isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void bytesArriveOnASlowLinkByEveryCommand(boolean scatters) {
    SimulatedLink slow =
        SimulatedLink.both(Speed.of(20, 500), Speed.of(50, 100))
            .withLocal(Speed.of(1, 10_000))
            .withPeer(Speed.of(5, 200));
    SimulatedHardware hardware = SimulatedHardware.discrete().withLink(slow);
    SimulatedProvider provider =
        new SimulatedProvider(scatters ? hardware : hardware.withoutScatter(), hardware);
    List<Device> devices = provider.discover().devices();
    try (Arena arena = Arena.ofShared();
        Queue queue = devices.getFirst().createQueue();
        Queue far = devices.getLast().createQueue()) {
      Device device = devices.getFirst();
      Block block = device.allocate(10_000, 64, BlockKind.DEVICE);
      Block other = device.allocate(10_000, 64, BlockKind.DEVICE);
      Block distant = devices.getLast().allocate(10_000, 64, BlockKind.DEVICE);
      Block pinned = device.allocate(1000, 64, BlockKind.PINNED);
      MemorySegment source = pinned.segment();
      for (int i = 0; i < 1000; i++) {
        source.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31));
      }
      assertThat(device.isPinned(source.asSlice(10, 990))).isTrue();
      assertThat(device.isPinned(arena.allocate(10))).isFalse();
      done(queue.fill(block, 0, 10_000, (byte) 0));
      assertThat(queue.scattersAtOnce()).isEqualTo(scatters);
      done(
          queue.scatter(
              source,
              List.of(
                  new Piece(0, block, 5000, 300),
                  new Piece(300, block, 0, 0),
                  new Piece(300, other, 7, 700))));
      done(queue.copy(other, 7, block, 5300, 700));
      done(far.copy(block, 5000, distant, 1, 1000));
      MemorySegment target = arena.allocate(1000);
      done(far.read(distant, 1, target));
      assertThat(target.mismatch(source)).isEqualTo(-1);
      target.fill((byte) 0);
      done(
          queue.gather(
              List.of(
                  new Piece(300, other, 7, 700),
                  new Piece(300, block, 0, 0),
                  new Piece(0, block, 5000, 300)),
              target));
      assertThat(target.mismatch(source)).isEqualTo(-1);
      List.of(block, other, distant, pinned).forEach(Block::free);
    }
    DriverLedger ledger = provider.device("simulated:0").ledger();
    assertThat(ledger.calls(SpiCall.SCATTER)).isEqualTo(scatters ? 1 : 0);
    assertThat(ledger.calls(SpiCall.WRITE)).isEqualTo(scatters ? 0 : 3);
    assertThat(ledger.hostToDeviceBytes()).isEqualTo(1000);
    assertThat(ledger.calls(SpiCall.GATHER)).isEqualTo(scatters ? 1 : 0);
    assertThat(ledger.calls(SpiCall.READ)).isEqualTo(scatters ? 0 : 3);
    assertThat(ledger.deviceToHostBytes()).isEqualTo(1000);
    devices.forEach(Device::close);
    assertThat(provider.violations()).isEmpty();
  }

  private static void done(Event event) {
    try (event) {
      event.await();
    }
  }
}
