package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bytes go from device to device. */
@ExtendWith(NothingLeaks.class)
class PeerTest {
  private static final int SIZE = 1 << 16;

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void copiesArriveWhetherOrNotTheDevicesReachEachOther(boolean reachable) {
    SimulatedCuda simulated = Simulation.with(2);
    simulated.setPeer(0, 1, reachable);
    simulated.setPeer(1, 0, reachable);
    List<Device> devices = Simulation.devices();
    try (Device first = devices.get(0);
        Device second = devices.get(1);
        Queue queue = first.createQueue();
        Queue other = second.createQueue()) {
      assertThat(second.copiesFrom(first)).isTrue();
      Block source = first.allocate(SIZE, 64, BlockKind.DEVICE);
      Block target = second.allocate(SIZE, 64, BlockKind.DEVICE);
      byte[] sent = Bytes.pattern(SIZE, 1);
      byte[] expected = Bytes.pattern(SIZE, 2);
      new Bytes(second, other).write(expected, target, 0);
      new Bytes(first, queue).write(sent, source, 0);
      for (int round = 0; round < 3; round++) {
        Bytes.await(other.copy(source, 5, target, 131, 1001));
      }
      System.arraycopy(sent, 5, expected, 131, 1001);
      assertThat(new Bytes(second, other).read(target, 0, SIZE)).isEqualTo(expected);
      // And back, by the other device's queue.
      Bytes.await(queue.copy(target, 0, source, 0, SIZE));
      assertThat(new Bytes(first, queue).read(source, 0, SIZE)).isEqualTo(expected);
      // The direct way is opened at first use, once for each direction.
      assertThat(simulated.calls("cuCtxEnablePeerAccess")).isEqualTo(reachable ? 2 : 0);
      assertThat(simulated.calls("cuMemcpyPeerAsync")).isEqualTo(4);
      source.free();
      target.free();
    }
  }

  @Test
  void aPeerThatCannotBeEnabledIsReachedThroughTheHost() {
    SimulatedCuda simulated = Simulation.with(2);
    List<Device> devices = Simulation.devices();
    try (Device first = devices.get(0);
        Device second = devices.get(1);
        Queue queue = first.createQueue();
        Queue other = second.createQueue()) {
      // CUDA_ERROR_TOO_MANY_PEERS
      simulated.fail("cuCtxEnablePeerAccess", 1, 711);
      Block source = first.allocate(SIZE, 64, BlockKind.DEVICE);
      Block target = second.allocate(SIZE, 64, BlockKind.DEVICE);
      Bytes.await(queue.fill(source, 0, SIZE, (byte) 5));
      Bytes.await(other.copy(source, 0, target, 0, SIZE));
      assertThat(new Bytes(second, other).read(target, 0, SIZE)).containsOnly(5);
      source.free();
      target.free();
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"DEVICE", "UNIFIED"})
  void aBufferIsCopiedToAnotherDevicesBuffer(MemoryLocation location) {
    SimulatedCuda simulated = Simulation.with(2);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      var first = tidepool.memory(tidepool.accelerator("cuda:0"));
      var second = tidepool.memory(tidepool.accelerator("cuda:1"));
      int[] sent = {1, 2, 3, 4, 5};
      try (UnifiedBuffer<int[]> from = first.allocate(ElementType.INT, 5, location);
          UnifiedBuffer<int[]> to = second.allocate(ElementType.INT, 5)) {
        from.copyFrom(sent);
        to.copyFrom(from);
        int[] arrived = new int[5];
        to.copyTo(arrived);
        assertThat(arrived).isEqualTo(sent);
      }
      assertThat(simulated.calls("cuMemcpyPeerAsync"))
          .isEqualTo(location == MemoryLocation.DEVICE ? 1 : 0);
    }
  }
}
