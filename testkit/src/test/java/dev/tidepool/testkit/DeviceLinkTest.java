package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.link.DeviceLink;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The queues of a device end together, whatever goes wrong. */
class DeviceLinkTest {
  private static final int QUEUES = 7;

  private final SimulatedProvider provider = new SimulatedProvider(SimulatedHardware.discrete());

  /** A device whose queue of that number, from 1, is refused by an Error. */
  private static Device failingAt(Device device, int number) {
    AtomicInteger count = new AtomicInteger();
    return (Device)
        Proxy.newProxyInstance(
            Device.class.getClassLoader(),
            new Class<?>[] {Device.class},
            (_, method, arguments) -> {
              if (method.getName().endsWith("Queue") && count.incrementAndGet() == number) {
                throw new OutOfMemoryError("chosen to fail");
              }
              return method.invoke(device, arguments);
            });
  }

  @Test
  void anErrorAtAnyQueueLeavesNoneOpen() {
    Discovery found = provider.discover();
    Device device = found.devices().getFirst();
    SimulatedDevice simulated = provider.device("simulated:0");
    for (int number = 1; number <= QUEUES; number++) {
      Device failing = failingAt(device, number);
      assertThatThrownBy(() -> link(failing)).isInstanceOf(OutOfMemoryError.class);
      assertThat(simulated.openQueues()).as("failure at %d", number).isZero();
    }
    try (DeviceLink _ = link(failingAt(device, QUEUES + 1))) {
      assertThat(simulated.openQueues()).isEqualTo(QUEUES);
    }
    assertThat(simulated.openQueues()).isZero();
    device.close();
    assertThat(provider.violations()).isEmpty();
  }

  private static DeviceLink link(Device device) {
    return new DeviceLink(
        device,
        (_, _) -> {
          throw new AssertionError("nothing is staged");
        },
        new NoStagingThreads(),
        1 << 20,
        () -> {});
  }
}
