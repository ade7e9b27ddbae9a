package dev.tidepool.testkit.fault;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceSharing;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.SharedBlock;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A wrapped device keeps every ability: each call of the SPI, also one with a default
 * implementation, reaches the driver as the same call. A call that is new in the SPI is tested here
 * without a change.
 */
class FaultyCallsTest {
  /** A device has whole blocks only. */
  private static final Set<String> OF_PARTS = Set.of("whole", "start");

  private final List<String> calls = new ArrayList<>();
  private final FaultInjector faults = new FaultInjector(bare(AcceleratorProvider.class));
  private final FaultyDevice device = (FaultyDevice) faults.discover().devices().getFirst();

  /** A call, and the type of the object that it is made on, which may have inherited it. */
  record SeamCall(Class<?> type, Method method) {}

  static Stream<Named<SeamCall>> callsOfTheSeam() {
    return Stream.of(
            AcceleratorProvider.class,
            Device.class,
            DeviceSharing.class,
            SharedBlock.class,
            Queue.class,
            NativeQueue.class,
            Block.class,
            Event.class,
            Program.class)
        .flatMap(type -> Arrays.stream(type.getMethods()).map(method -> new SeamCall(type, method)))
        .filter(call -> !Modifier.isStatic(call.method().getModifiers()))
        .filter(call -> !OF_PARTS.contains(call.method().getName()))
        .map(
            call ->
                Named.of(
                    call.type().getSimpleName()
                        + "."
                        + call.method().getName()
                        + " with "
                        + call.method().getParameterCount(),
                    call));
  }

  @ParameterizedTest
  @MethodSource("callsOfTheSeam")
  void isTheSameCallBelow(SeamCall call) throws ReflectiveOperationException {
    Object wrapper = wrapper(call.type());
    calls.clear();
    Method method = call.method();
    method.invoke(wrapper, Arrays.stream(method.getParameterTypes()).map(this::argument).toArray());
    assertThat(calls).containsExactly(method.getName());
  }

  private Object wrapper(Class<?> type) {
    if (type == AcceleratorProvider.class) {
      return faults;
    }
    if (type == Device.class) {
      return device;
    }
    if (type == DeviceSharing.class) {
      return device.sharing().orElseThrow();
    }
    if (type == SharedBlock.class) {
      return device.sharing().orElseThrow().create(Path.of("x"), "x", ElementType.INT, 1);
    }
    if (type == Queue.class) {
      return device.createQueue();
    }
    if (type == NativeQueue.class) {
      return device.foreignQueue(8);
    }
    if (type == Block.class) {
      return device.allocate(16, 1, BlockKind.DEVICE);
    }
    if (type == Event.class) {
      return device.createQueue().write(MemorySegment.NULL, bare(Block.class), 0);
    }
    return device.compile(KernelSource.elementwise("y = x"), List.of());
  }

  /** An object of the driver that records its calls. */
  private <T> T bare(Class<T> type) {
    InvocationHandler handler =
        (_, call, _) -> {
          calls.add(call.getName());
          return answer(call.getReturnType());
        };
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private Object answer(Class<?> type) {
    if (type == Discovery.class) {
      return new Discovery(List.of(bare(Device.class)), List.of());
    }
    if (type == Optional.class) {
      // Only one call answers with one.
      return Optional.of(bare(DeviceSharing.class));
    }
    if (type == OptionalInt.class) {
      return OptionalInt.empty();
    }
    return type.isInterface() && type != MemorySegment.class ? bare(type) : argument(type);
  }

  private Object argument(Class<?> type) {
    if (type == long.class) {
      return 8L;
    }
    if (type == int.class) {
      return 2;
    }
    if (type == byte.class) {
      return (byte) 1;
    }
    if (type == boolean.class) {
      return true;
    }
    if (type == String.class) {
      return "";
    }
    if (type == MemorySegment.class) {
      return Arena.ofAuto().allocate(8);
    }
    if (type == BlockKind.class) {
      return BlockKind.DEVICE;
    }
    if (type == Path.class) {
      return Path.of("x");
    }
    if (type == ElementType.class) {
      return ElementType.INT;
    }
    if (type == Placement.class) {
      return Placement.ANYWHERE;
    }
    if (type == List.class) {
      return List.of();
    }
    if (type == Launch.class) {
      return new Launch(bare(Program.class), List.of(), LaunchRange.of(1));
    }
    if (type == KernelSource.class) {
      return KernelSource.elementwise("y = x");
    }
    return type.isInterface() ? bare(type) : null;
  }
}
