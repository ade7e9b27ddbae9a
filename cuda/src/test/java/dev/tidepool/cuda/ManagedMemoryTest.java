package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What the driver itself says it was told of managed memory. */
@ExtendWith(NothingLeaks.class)
class ManagedMemoryTest {
  private static final int READ_MOSTLY = 1;
  private static final int PREFERRED_LOCATION = 2;
  private static final int ACCESSED_BY = 3;
  private static final int LAST_PREFETCH_LOCATION = 4;
  private static final int HOST = -1;
  private static final int NOWHERE = -2;
  private static final long BYTES = 1 << 20;

  /** The second, so that no number is right by chance. */
  private static final int DEVICE = 1;

  @BeforeEach
  void twoDevices() {
    Simulation.with(2);
  }

  private static Device second() {
    var devices = Simulation.devices();
    devices.getFirst().close();
    return devices.get(DEVICE);
  }

  private static Block allocated(Device device, boolean mostlyRead, boolean mostlyDevice) {
    return allocated(device, new Placement(OptionalInt.empty(), false, mostlyRead, mostlyDevice));
  }

  private static Block allocated(Device device, Placement placement) {
    return device.allocate(BYTES, 64, BlockKind.UNIFIED, placement);
  }

  private static int told(Device device, Block block, int attribute) {
    return told(device, block, attribute, 1)[0];
  }

  /** The processors that were told to have access, and {@link #NOWHERE} behind them. */
  private static int[] accessors(Device device, Block block) {
    return told(device, block, ACCESSED_BY, 3);
  }

  private static int[] told(Device device, Block block, int attribute, int count) {
    MethodHandle get =
        Installed.DRIVER.code(
            "cuMemRangeGetAttribute", ADDRESS, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
    long address = Objects.requireNonNull(block.segment()).address();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(JAVA_INT, count);
      ((CudaDevice) device)
          .context()
          .run(
              () ->
                  NativeCall.call(
                      "cuMemRangeGetAttribute",
                      () ->
                          (int)
                              get.invokeExact(value, value.byteSize(), attribute, address, BYTES)));
      return value.toArray(JAVA_INT);
    }
  }

  @Test
  void eachHintIsTheAdviceThatItMeans() {
    try (Device device = second()) {
      Block plain = allocated(device, false, false);
      assertThat(told(device, plain, READ_MOSTLY)).isZero();
      assertThat(told(device, plain, PREFERRED_LOCATION)).isEqualTo(NOWHERE);
      assertThat(accessors(device, plain)).containsOnly(NOWHERE);
      Block read = allocated(device, true, false);
      assertThat(told(device, read, READ_MOSTLY)).isOne();
      assertThat(told(device, read, PREFERRED_LOCATION)).isEqualTo(NOWHERE);
      assertThat(accessors(device, read)).containsOnly(NOWHERE);
      Block there = allocated(device, false, true);
      assertThat(told(device, there, READ_MOSTLY)).isZero();
      assertThat(told(device, there, PREFERRED_LOCATION)).isEqualTo(DEVICE);
      assertThat(accessors(device, there)).containsExactly(DEVICE, NOWHERE, NOWHERE);
      plain.free();
      read.free();
      there.free();
    }
  }

  @Test
  void memoryOfTheHostPrefersItAndSharedMemoryPrefersNothing() {
    Allocation unified = Allocation.at(MemoryLocation.UNIFIED);
    try (Device device = second()) {
      Block host = allocated(device, Placement.of(unified.mostlyHost()));
      assertThat(told(device, host, READ_MOSTLY)).isZero();
      assertThat(told(device, host, PREFERRED_LOCATION)).isEqualTo(HOST);
      assertThat(accessors(device, host)).containsExactly(DEVICE, NOWHERE, NOWHERE);
      Block shared = allocated(device, Placement.of(unified.mostlyShared()));
      assertThat(told(device, shared, READ_MOSTLY)).isZero();
      assertThat(told(device, shared, PREFERRED_LOCATION)).isEqualTo(NOWHERE);
      assertThat(accessors(device, shared)).containsExactlyInAnyOrder(HOST, DEVICE, NOWHERE);
      host.free();
      shared.free();
    }
  }

  @Test
  void prefetchesGoWhereTheyAreMeantTo() {
    try (Device device = second();
        Queue queue = device.createQueue()) {
      Block block = allocated(device, false, false);
      Bytes.await(Objects.requireNonNull(queue.prefetch(block, 0, BYTES, true)));
      assertThat(told(device, block, LAST_PREFETCH_LOCATION)).isEqualTo(DEVICE);
      Bytes.await(Objects.requireNonNull(queue.prefetch(block, 0, BYTES, false)));
      assertThat(told(device, block, LAST_PREFETCH_LOCATION)).isEqualTo(HOST);
      block.free();
    }
  }

  /** The stream of a closed queue is destroyed, so the driver must not get its handle. */
  @Test
  void aClosedQueueAttachesNothing() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "attribute." + Simulation.CONCURRENT_MANAGED_ACCESS, 0);
    try (Device device = Simulation.devices().getFirst()) {
      Block block = allocated(device, false, false);
      Queue queue = device.createQueue();
      queue.close();
      long before = simulated.calls("cuStreamAttachMemAsync");
      assertThatIllegalStateException()
          .isThrownBy(() -> queue.acquire(block))
          .withMessageContaining("used after close");
      assertThatIllegalStateException()
          .isThrownBy(() -> queue.release(block))
          .withMessageContaining("used after close");
      assertThat(simulated.calls("cuStreamAttachMemAsync")).isEqualTo(before);
      block.free();
    }
  }

  /** The driver had attached the memory to the device when it refused the event. */
  @Test
  void theHostReachesMemoryWhoseReleaseFailed() throws IOException {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "attribute." + Simulation.CONCURRENT_MANAGED_ACCESS, 0);
    try (Device device = Simulation.devices().getFirst();
        Queue queue = device.createQueue();
        Queue other = device.createQueue();
        Program waiting =
            device.compile(
                KernelSource.cuda(
                    "extern \"C\" __global__ void wait(volatile int* end) { while (*end == 0); }",
                    "wait",
                    KernelParameter.inout("end", ElementType.INT)),
                List.of())) {
      Block kept = allocated(device, false, false);
      Block returned = allocated(device, false, false);
      Bytes.await(queue.acquire(kept));
      Bytes.await(queue.acquire(returned));
      Bytes.await(queue.release(returned));
      simulated.fail("cuEventRecord", 1, ErrorCodes.CUDA_ERROR_OPERATING_SYSTEM);
      assertThatThrownBy(() -> queue.release(kept)).isInstanceOf(AcceleratorException.class);
      Block flag = device.allocate(4, 64, BlockKind.DEVICE);
      Bytes.await(queue.fill(flag, 0, 4, (byte) 0));
      try (Event kernel =
          other.launch(
              new Launch(
                  waiting, List.of(new KernelArgument.Array(flag, 0, 4)), LaunchRange.of(1)))) {
        try {
          await().until(() -> !isAccessible(returned));
          assertThat(isAccessible(kept)).isTrue();
        } finally {
          Bytes.await(queue.fill(flag, 0, 4, (byte) 1));
        }
        kernel.await();
      }
      List.of(kept, returned, flag).forEach(Block::free);
    }
  }

  /** Returns whether the host may write the block now; a write that it may not would crash. */
  private static boolean isAccessible(Block block) throws IOException {
    long address = Objects.requireNonNull(block.segment()).address();
    for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
      int dash = line.indexOf('-');
      int blank = line.indexOf(' ');
      if (Long.parseUnsignedLong(line.substring(0, dash), 16) <= address
          && address < Long.parseUnsignedLong(line.substring(dash + 1, blank), 16)) {
        return line.startsWith("rw", blank + 1);
      }
    }
    return false;
  }
}
