package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a buffer's alignment makes of the request that the driver of a device gets. */
class DeviceAlignmentTest {
  /** The alignments that the device was asked for. */
  private final List<Long> asked = new CopyOnWriteArrayList<>();

  private Device listening(Device device) {
    return (Device)
        Proxy.newProxyInstance(
            Device.class.getClassLoader(),
            new Class<?>[] {Device.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("equals")) {
                return proxy == arguments[0];
              }
              if (method.getName().equals("allocate")) {
                asked.add((Long) arguments[1]);
              }
              return call(method, device, arguments);
            });
  }

  private static Object call(Method method, Object target, Object[] arguments) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private AcceleratorProvider listening(AcceleratorProvider provider) {
    return new AcceleratorProvider() {
      @Override
      public String name() {
        return provider.name();
      }

      @Override
      public Discovery discover() {
        Discovery found = provider.discover();
        return new Discovery(
            found.devices().stream().map(DeviceAlignmentTest.this::listening).toList(),
            found.notes());
      }
    };
  }

  /** Large blocks that the host sees are aligned to pages anyway; those of a device need not be. */
  @ParameterizedTest
  @ValueSource(longs = {1000, 100_000, 3 << 20})
  void theDriverIsToldWhateverTheSize(long bytes) {
    AcceleratorProvider provider = listening(new SimulatedProvider(SimulatedHardware.discrete()));
    try (Tidepool tidepool = Discovery.using(List.of(provider), Tidepool::open)) {
      UnifiedMemoryManager memory = tidepool.memory();
      for (MemoryLocation location :
          List.of(MemoryLocation.DEVICE, MemoryLocation.UNIFIED, MemoryLocation.PINNED)) {
        asked.clear();
        memory.allocate(ElementType.BYTE, bytes, Allocation.at(location).aligned(4096)).close();
        assertThat(asked).as("%s", location).containsExactly(4096L);
      }
    }
  }
}
