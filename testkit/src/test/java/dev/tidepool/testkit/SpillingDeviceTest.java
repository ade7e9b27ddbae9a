package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageSpill;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** More data than the device, and than the limit, hold: from the device to the host to a file. */
@ExtendWith(QuietLog.class)
@Timeout(300)
class SpillingDeviceTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int FLOATS = MEBIBYTE / 4;

  @TempDir Path directory;

  private MemoryOptions limited(long bytes) {
    return MemoryOptions.builder().memoryLimit(bytes).spillDirectory(directory).build();
  }

  private static Tidepool open(AcceleratorProvider provider, MemoryOptions options) {
    return Discovery.using(List.of(provider), () -> Tidepool.open(options));
  }

  private static void verify(List<UnifiedBuffer<float[]>> buffers, int added) {
    for (int i = 0; i < buffers.size(); i++) {
      float[] expected = Patterns.array(ElementType.FLOAT, FLOATS, i);
      for (int round = 0; round < added; round++) {
        for (int j = 0; j < FLOATS; j++) {
          expected[j] += 1;
        }
      }
      float[] seen = new float[FLOATS];
      buffers.get(i).copyTo(seen);
      Patterns.assertEqual(seen, expected, "buffer " + i);
    }
  }

  private static List<UnifiedBuffer<float[]>> filled(
      UnifiedMemoryManager memory, int count, MemoryLocation location) {
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, FLOATS, location);
      buffer.copyFrom(Patterns.array(ElementType.FLOAT, FLOATS, i));
      buffers.add(buffer);
    }
    return buffers;
  }

  @ParameterizedTest
  @EnumSource(HostAccess.class)
  void aWorkingSetOfThreeTimesTheLimitGoesThroughAllTiers(HostAccess access) {
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete()
                .withMemory(4 * MEBIBYTE)
                .withMaximumAllocation(MEBIBYTE)
                .withHostAccess(access));
    try (Tidepool tidepool = open(simulated, limited(12 * MEBIBYTE))) {
      UnifiedMemoryManager memory = tidepool.memory();
      List<UnifiedBuffer<float[]>> buffers = filled(memory, 36, MemoryLocation.DEVICE);
      assertThat(memory.statistics().spilledBytes()).isGreaterThanOrEqualTo(24L * MEBIBYTE);
      Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      for (int round = 0; round < 2; round++) {
        for (UnifiedBuffer<float[]> buffer : buffers) {
          increment.execute(Arguments.of("y", buffer));
          assertThat(memory.statistics().reservedBytes()).isLessThanOrEqualTo(12L * MEBIBYTE);
        }
      }
      verify(buffers, 2);
      buffers.forEach(UnifiedBuffer::close);
      assertThat(memory.statistics().spilledBytes()).isZero();
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  @Test
  void theHostTierFillsBeforeTheFileDoesAndTheOldestIsInTheFile() {
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete().withMemory(4 * MEBIBYTE).withMaximumAllocation(MEBIBYTE));
    try (Tidepool tidepool = open(simulated, limited(12 * MEBIBYTE))) {
      UnifiedMemoryManager memory = tidepool.memory();
      List<UnifiedBuffer<float[]>> buffers = filled(memory, 7, MemoryLocation.DEVICE);
      assertThat(memory.statistics().evictions()).isPositive();
      assertThat(memory.statistics().spills()).isZero();
      buffers.addAll(filled(memory, 13, MemoryLocation.DEVICE));
      long unspills = memory.statistics().unspills();
      assertThat(memory.statistics().spills()).isPositive();
      float[] seen = new float[FLOATS];
      buffers.getLast().copyTo(seen);
      assertThat(buffers.getLast().state()).isEqualTo(BufferState.DEVICE_ONLY);
      assertThat(memory.statistics().unspills()).isEqualTo(unspills);
      assertThat(buffers.getFirst().state()).isEqualTo(BufferState.HOST_ONLY);
      buffers.getFirst().copyTo(seen);
      Patterns.assertEqual(seen, Patterns.array(ElementType.FLOAT, FLOATS, 0), "the oldest");
      assertThat(memory.statistics().unspills()).isEqualTo(unspills + 1);
      buffers.forEach(UnifiedBuffer::close);
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void whatTheDeviceHasNewerGoesToTheFileAlthoughTheHostHasACopy() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = open(simulated, limited(12 * MEBIBYTE))) {
      UnifiedMemoryManager memory = tidepool.memory();
      Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      try (UnifiedBuffer<float[]> y = filled(memory, 1, MemoryLocation.HOST).getFirst()) {
        increment.execute(Arguments.of("y", y));
        assertThat(y.state()).isEqualTo(BufferState.DEVICE_DIRTY);
        Storage storage = ((BufferHandle<?>) y).storage();
        // The device's copy is usually given up first, so this is called directly.
        SpillFile file = Objects.requireNonNull(storage.context().spilling());
        assertThat(new StorageSpill(storage).spill(file)).isTrue();
        assertThat(y.state()).isEqualTo(BufferState.HOST_ONLY);
        verify(List.of(y), 1);
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void whatOnlyTheDeviceHasGoesToTheFileWhereTheLimitLeavesNoRoomOnTheHost() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = open(simulated, limited(4 * MEBIBYTE))) {
      UnifiedMemoryManager memory = tidepool.memory();
      List<UnifiedBuffer<float[]>> buffers = filled(memory, 12, MemoryLocation.DEVICE);
      assertThat(memory.statistics().spilledBytes()).isGreaterThanOrEqualTo(8L * MEBIBYTE);
      verify(buffers, 0);
      buffers.forEach(UnifiedBuffer::close);
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void unifiedBuffersMakeRoomOnAFullDevice() {
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete().withMemory(4 * MEBIBYTE).withMaximumAllocation(MEBIBYTE));
    MemoryOptions options = MemoryOptions.builder().spillDirectory(directory).build();
    try (Tidepool tidepool = open(simulated, options)) {
      List<UnifiedBuffer<float[]>> buffers = filled(tidepool.memory(), 12, MemoryLocation.UNIFIED);
      assertThat(buffers).allMatch(buffer -> buffer.state() != BufferState.HOST_ONLY);
      verify(buffers, 0);
      buffers.forEach(UnifiedBuffer::close);
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void aMappedBlockThatIsNotGivenUpStaysWithTheHost() {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete().withHostAccess(HostAccess.MAPPED));
    FaultInjector faults = new FaultInjector(simulated);
    try (Tidepool tidepool = open(faults, limited(4 * MEBIBYTE))) {
      UnifiedMemoryManager memory = tidepool.memory();
      List<UnifiedBuffer<float[]>> buffers = filled(memory, 4, MemoryLocation.DEVICE);
      faults.fail(SpiCall.RELEASE, 1, Failure.REFUSED);
      memory.allocate(ElementType.FLOAT, FLOATS, MemoryLocation.DEVICE).close();
      assertThat(faults.fired()).contains(SpiCall.RELEASE);
      assertThat(memory.statistics().spills()).isEqualTo(1);
      verify(buffers, 0);
      buffers.forEach(UnifiedBuffer::close);
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  @ParameterizedTest
  @EnumSource(HostAccess.class)
  void whatComesBackFromTheFileMayLieInAnotherKindOfMemory(HostAccess access) {
    // Page-locked memory for two of them: whose turn it is changes with each return.
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete().withPinned(2 * MEBIBYTE).withHostAccess(access));
    try (Tidepool tidepool = open(simulated, limited(4 * MEBIBYTE))) {
      UnifiedMemoryManager memory = tidepool.memory();
      List<UnifiedBuffer<float[]>> buffers = filled(memory, 9, MemoryLocation.PINNED);
      Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      for (int round = 0; round < 3; round++) {
        for (UnifiedBuffer<float[]> buffer : buffers) {
          increment.execute(Arguments.of("y", buffer));
        }
        verify(buffers, round + 1);
      }
      assertThat(memory.statistics().pinnedFallbacks()).isPositive();
      buffers.forEach(UnifiedBuffer::close);
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  /** The second buffer needs the room of the first, which a kernel uses; the third the second's. */
  @Test
  void aRequestWaitsForTheKernelOfAClosedBuffer() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    int length = 1 << 18;
    try (Tidepool tidepool =
        Discovery.using(List.of(simulated), () -> Tidepool.open(limited(4L * length)))) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      Kernel kernel =
          memory.compile(
              KernelSource.java(
                  item -> item.array(0).fill((byte) 1),
                  KernelParameter.inout("y", ElementType.INT)));
      for (int i = 0; i < 300; i++) {
        UnifiedBuffer<int[]> first = memory.allocate(ElementType.INT, length);
        CompletableFuture<Void> use =
            kernel.executeAsync(Arguments.of("y", first), LaunchRange.of(1));
        first.close();
        try (UnifiedBuffer<int[]> _ = memory.allocate(ElementType.INT, length);
            UnifiedBuffer<int[]> third = memory.allocate(ElementType.INT, length)) {
          assertThat(third.length()).isEqualTo(length);
        }
        use.join();
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(HostAccess.class)
  void randomWorkUnderALimitEqualsTheModelWhateverFails(HostAccess access) {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete().withHostAccess(access));
    FaultInjector faults = new FaultInjector(simulated);
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
      RandomWorkload workload =
          new RandomWorkload(tidepool, "simulated:0").faults(faults).tight(directory);
      assertThat(workload.operations(5_000).run()).isPositive();
      assertThat(workload.operations(5_000).threads(4).run()).isPositive();
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.devices()).allMatch(device -> device.liveBlocks() == 0);
  }
}
