package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.host.NumaPolicy;
import dev.tidepool.host.ThreadNumaPolicy;
import dev.tidepool.spi.Device;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** The NUMA node of the host that a card is attached to, as the driver tells it. */
class HostNodeTest {
  private static final String NODE = "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID;

  private static OptionalInt nodeOfTheOnlyDevice() {
    try (Device device = Simulation.devices().getFirst()) {
      return device.numaNode();
    }
  }

  @Test
  void itIsTheDrivers() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, NODE, 3);
    assertThat(nodeOfTheOnlyDevice()).hasValue(3);
    simulated.set(0, NODE, -1);
    assertThat(nodeOfTheOnlyDevice()).isEmpty();
  }

  @Test
  void aDriverThatDoesNotKnowTheQuestionNamesNone() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "driver_version", 12_010);
    assertThat(nodeOfTheOnlyDevice()).isEmpty();
  }

  @Test
  void aDeviceThatCannotBeAskedIsThereAllTheSame() {
    SimulatedCuda simulated = Simulation.with(1);
    // The mode, seven other properties, and then the node.
    simulated.fail("cuDeviceGetAttribute", 9, ErrorCodes.CUDA_ERROR_NOT_SUPPORTED);
    assertThat(nodeOfTheOnlyDevice()).isEmpty();
  }

  @Test
  void pageLockedMemoryOfANodeThatIsNotThereIsMemoryFromAnywhere() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, NODE, 4242);
    NumaPolicy before = ThreadNumaPolicy.policy();
    try (Tidepool tidepool = Simulation.open(new CudaProvider());
        UnifiedBuffer<byte[]> buffer =
            tidepool.memory().allocate(ElementType.BYTE, 1 << 20, MemoryLocation.PINNED)) {
      buffer.fill((byte) 7);
      assertThat(buffer.asReadOnlySegment().get(JAVA_BYTE, 9)).isEqualTo((byte) 7);
      assertThat(simulated.calls("cuMemHostAlloc")).isPositive();
    }
    assertThat(ThreadNumaPolicy.policy()).isEqualTo(before);
  }
}
