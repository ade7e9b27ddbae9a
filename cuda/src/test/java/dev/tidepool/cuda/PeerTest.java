package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Accelerator;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import dev.tidepool.transfer.PeerAccess.State;
import dev.tidepool.transfer.PeerAccess.Way;
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
      assertThat(second.copiesDirectlyFrom(first)).isEqualTo(reachable);
      for (int round = 0; round < 3; round++) {
        if (reachable && round > 0) {
          second.enablePeer(first);
          first.enablePeer(second);
        }
        Bytes.await(other.copy(source, 5, target, 131, 1001));
      }
      System.arraycopy(sent, 5, expected, 131, 1001);
      assertThat(new Bytes(second, other).read(target, 0, SIZE)).isEqualTo(expected);
      // And back, by the other device's queue.
      Bytes.await(queue.copy(target, 0, source, 0, SIZE));
      assertThat(new Bytes(first, queue).read(source, 0, SIZE)).isEqualTo(expected);
      assertThat(simulated.calls("cuMemcpyPeerAsync")).isEqualTo(4);
      source.free();
      target.free();
    }
  }

  private static final int[] SENT = {1, 2, 3, 4, 5};

  private static void copyAndCheck(UnifiedMemoryManager from, UnifiedMemoryManager to) {
    try (UnifiedBuffer<int[]> source = from.copyOf(SENT);
        UnifiedBuffer<int[]> target = to.allocate(ElementType.INT, SENT.length)) {
      target.copyFrom(source);
      int[] arrived = new int[SENT.length];
      target.copyTo(arrived);
      assertThat(arrived).isEqualTo(SENT);
    }
  }

  @Test
  void theFirstCopyOpensAWayOnceAndDisablingClosesIt() {
    SimulatedCuda simulated = Simulation.with(2);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      Accelerator one = tidepool.accelerator("cuda:0");
      Accelerator two = tidepool.accelerator("cuda:1");
      assertThat(tidepool.peers().way(one, two).state()).isEqualTo(State.ON_FIRST_USE);
      for (int round = 0; round < 3; round++) {
        copyAndCheck(tidepool.memory(one), tidepool.memory(two));
      }
      assertThat(tidepool.peers().way(one, two).state()).isEqualTo(State.ENABLED);
      assertThat(simulated.calls("cuCtxEnablePeerAccess")).isEqualTo(1);
      assertThat(simulated.calls("cuMemcpyPeerAsync")).isEqualTo(3);
      assertThat(tidepool.peers().way(two, one).state()).isEqualTo(State.ON_FIRST_USE);

      assertThat(simulated.calls("cuMemPoolSetAccess")).isEqualTo(1);
      tidepool.peers().disable(one, two);
      assertThat(simulated.calls("cuCtxDisablePeerAccess")).isEqualTo(1);
      assertThat(simulated.calls("cuMemPoolSetAccess")).isEqualTo(2);
      copyAndCheck(tidepool.memory(one), tidepool.memory(two));
      assertThat(simulated.calls("cuMemcpyPeerAsync")).isEqualTo(3);
      assertThat(tidepool.peers().way(one, two))
          .returns(3L, Way::copies)
          .returns(1L, Way::stagedCopies);

      tidepool.peers().enable(one, two);
      copyAndCheck(tidepool.memory(one), tidepool.memory(two));
      assertThat(simulated.calls("cuCtxEnablePeerAccess")).isEqualTo(2);
      assertThat(simulated.calls("cuMemcpyPeerAsync")).isEqualTo(4);
    }
  }

  @Test
  void aPeerThatCannotBeEnabledIsReachedThroughTheHost() {
    SimulatedCuda simulated = Simulation.with(2);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      Accelerator one = tidepool.accelerator("cuda:0");
      Accelerator two = tidepool.accelerator("cuda:1");
      // CUDA_ERROR_TOO_MANY_PEERS
      simulated.fail("cuCtxEnablePeerAccess", 1, 711);
      copyAndCheck(tidepool.memory(one), tidepool.memory(two));
      assertThat(tidepool.peers().way(one, two).state()).isEqualTo(State.REFUSED);
      assertThat(simulated.calls("cuMemcpyPeerAsync")).isZero();
      tidepool.peers().enable(one, two);
      copyAndCheck(tidepool.memory(one), tidepool.memory(two));
      assertThat(simulated.calls("cuMemcpyPeerAsync")).isEqualTo(1);
    }
  }

  @Test
  void accessThatOthersHadEnabledStaysEnabled() {
    SimulatedCuda simulated = Simulation.with(2);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      Accelerator one = tidepool.accelerator("cuda:0");
      Accelerator two = tidepool.accelerator("cuda:1");
      simulated.fail("cuCtxEnablePeerAccess", 1, ErrorCodes.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
      copyAndCheck(tidepool.memory(one), tidepool.memory(two));
      assertThat(tidepool.peers().way(one, two).isEnabled()).isTrue();
      tidepool.peers().disable(one, two);
      assertThat(simulated.calls("cuCtxDisablePeerAccess")).isZero();
    }
  }

  @Test
  void theMatrixTellsWhatTheDriverSays() {
    SimulatedCuda simulated = Simulation.with(2);
    simulated.setPeer(0, 1, false);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      Accelerator one = tidepool.accelerator("cuda:0");
      Accelerator two = tidepool.accelerator("cuda:1");
      // The first cannot reach the second's memory, so it does not copy from there.
      assertThat(tidepool.peers().way(two, one).canReach()).isFalse();
      assertThat(tidepool.peers().way(one, two).canReach()).isTrue();
      assertThatThrownBy(() -> tidepool.peers().enable(two, one))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("cuda:0")
          .hasMessageContaining("cuda:1");
      copyAndCheck(tidepool.memory(two), tidepool.memory(one));
      assertThat(simulated.calls("cuCtxEnablePeerAccess")).isZero();
    }
  }

  @Test
  void whereNobodyReachesNothingIsDisabled() {
    SimulatedCuda simulated = Simulation.with(2);
    simulated.setPeer(0, 1, false);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      Accelerator one = tidepool.accelerator("cuda:0");
      Accelerator two = tidepool.accelerator("cuda:1");
      tidepool.peers().disable(two, one);
      assertThat(tidepool.peers().way(two, one).state()).isEqualTo(State.UNREACHABLE);
      copyAndCheck(tidepool.memory(two), tidepool.memory(one));
      // The driver has its own way through the host.
      assertThat(simulated.calls("cuMemcpyPeerAsync")).isEqualTo(1);
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
