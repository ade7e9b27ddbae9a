package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Accelerator;
import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.host.HostMemory;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which of the driver's memory a block is, and what is said when there is none. */
@ExtendWith(NothingLeaks.class)
class AllocationTest {
  private static final int PORTABLE = 1;
  private static final int WRITE_COMBINED = 4;
  private static final Placement HINTED = new Placement(OptionalInt.empty(), false, true, true);

  @Test
  void deviceMemoryComesFromAPoolWhoseFreeWaitsForNoKernel() {
    try (Device device = Simulation.device()) {
      SimulatedCuda simulated = SimulatedCuda.orSkip();
      Block block = device.allocate(1 << 20, 256, BlockKind.DEVICE);
      assertThat(block.hostAccess()).isEqualTo(HostAccess.NONE);
      assertThat(block.segment()).isNull();
      block.free();
      assertThat(simulated.calls("cuMemAllocFromPoolAsync")).isOne();
      assertThat(simulated.calls("cuMemFreeAsync")).isOne();
      assertThat(simulated.calls("cuMemAlloc_v2") + simulated.calls("cuMemFree_v2")).isZero();
    }
  }

  @Test
  void whereTheDeviceHasNoPoolsItIsPlain() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0);
    try (Device device = Simulation.devices().getFirst()) {
      device.allocate(1 << 20, 256, BlockKind.DEVICE).free();
      assertThat(simulated.calls("cuMemAlloc_v2")).isOne();
      assertThat(simulated.calls("cuMemPoolCreate")).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"cuMemPoolCreate", "cuMemPoolSetAttribute"})
  void whereTheDriverRefusesAPoolItIsPlain(String function) {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.fail(function, 1, ErrorCodes.CUDA_ERROR_NOT_SUPPORTED);
    try (Device device = Simulation.devices().getFirst()) {
      device.allocate(1 << 20, 256, BlockKind.DEVICE).free();
      assertThat(simulated.calls("cuMemAlloc_v2")).isOne();
    }
  }

  @Test
  void whatTheDriversPoolKeepsIsASetting() {
    SimulatedCuda simulated = Simulation.with(1);
    for (String kept : new String[] {"0", "64m"}) {
      try (Device device =
          Simulation.under(
              Map.of("tidepool.cuda.releaseThreshold", kept),
              () -> Simulation.devices().getFirst())) {
        long before = device.memory().freeBytes();
        device.allocate(16 << 20, 256, BlockKind.DEVICE).free();
        long missing = before - device.memory().freeBytes();
        if (kept.equals("0")) {
          assertThat(missing).isZero();
        } else {
          assertThat(missing).isGreaterThanOrEqualTo(16 << 20);
        }
      }
    }
    // And one each that keeps allocations from waiting for other streams.
    assertThat(simulated.calls("cuMemPoolSetAttribute")).isEqualTo(4);
  }

  @ParameterizedTest
  @EnumSource
  void everyKindIsAlignedAsAskedFor(BlockKind kind) {
    try (Device device = Simulation.device()) {
      for (long alignment = 1; alignment <= 4 << 20; alignment *= 4) {
        CudaBlock block = (CudaBlock) device.allocate(1000, alignment, kind);
        assertThat(block.address() % alignment).as("aligned to %d", alignment).isZero();
        MemorySegment segment = block.segment();
        if (segment != null) {
          assertThat(segment.address() % alignment).isZero();
          assertThat(segment.byteSize()).isEqualTo(1000);
        }
        block.free();
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"PINNED", "UNIFIED"})
  void theHostReachesTheBytesAndASegmentThatIsHeldTooLongFails(BlockKind kind) {
    try (Device device = Simulation.device();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(4096, 64, kind);
      assertThat(block.hostAccess()).isEqualTo(HostAccess.DIRECT);
      MemorySegment segment = block.segment();
      assertThat(segment).isNotNull().isSameAs(block.segment());
      segment.fill((byte) 7);
      if (kind == BlockKind.UNIFIED) {
        assertThat(new Bytes(device, queue).read(block, 0, 4096)).containsOnly(7);
      }
      block.free();
      assertThatIllegalStateException()
          .isThrownBy(() -> segment.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0));
    }
  }

  @Test
  void pinnedMemoryIsPortableAndWriteCombinedOnlyOnRequest() {
    SimulatedCuda simulated = Simulation.with(2);
    List<Device> devices = Simulation.devices();
    try (Device first = devices.get(0);
        Device second = devices.get(1);
        Queue queue = second.createQueue()) {
      Block plain = first.allocate(4096, 64, BlockKind.PINNED);
      Block combined = first.allocate(4096, 64, BlockKind.PINNED, HINTED);
      // The other device's copies reach it at full speed, which the simulation notes if not.
      Block target = second.allocate(4096, 64, BlockKind.DEVICE);
      for (Block source : List.of(plain, combined)) {
        assertThat(second.prefersStaging(java.util.Objects.requireNonNull(source.segment())))
            .isFalse();
        Bytes.await(queue.write(java.util.Objects.requireNonNull(source.segment()), target, 0));
      }
      assertThat(flags(first, plain.segment())).isEqualTo(PORTABLE);
      assertThat(flags(first, combined.segment())).isEqualTo(PORTABLE | WRITE_COMBINED);
      assertThat(simulated.calls("cuMemHostAlloc")).isEqualTo(2);
      plain.free();
      combined.free();
      target.free();
    }
  }

  @Test
  void aUserAsksForWriteCombinedMemoryByTheHintThatTheHostSeldomReadsIt() {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider());
        Device device = Simulation.devices().getFirst()) {
      UnifiedMemoryManager memory = tidepool.memory(cuda(tidepool));
      Allocation pinned = Allocation.at(MemoryLocation.PINNED);
      Map.of(
              pinned,
              PORTABLE,
              pinned.mostlyRead(),
              PORTABLE,
              pinned.mostlyDevice(),
              PORTABLE | WRITE_COMBINED)
          .forEach(
              (allocation, flags) -> {
                try (UnifiedBuffer<int[]> buffer =
                    memory.allocate(ElementType.INT, 1000, allocation)) {
                  assertThat(flags(device, buffer.asSegment()))
                      .as("%s", allocation)
                      .isEqualTo(flags);
                }
              });
    }
  }

  /** What the driver says memory of the host was allocated with. */
  private static int flags(Device device, @Nullable MemorySegment pinned) {
    MethodHandle get = Installed.DRIVER.code("cuMemHostGetFlags", ADDRESS, JAVA_LONG);
    long address = Objects.requireNonNull(pinned).address();
    return ((CudaDevice) device)
        .context()
        .call(
            () ->
                (int)
                    NativeCall.get(
                        "cuMemHostGetFlags", flags -> (int) get.invokeExact(flags, address)));
  }

  @Test
  void hostMemoryThatIsNotPinnedIsBetterStaged() {
    try (Device device = Simulation.device();
        var arena = java.lang.foreign.Arena.ofConfined()) {
      assertThat(device.prefersStaging(arena.allocate(4096))).isTrue();
    }
  }

  @Test
  void hintsBecomeAdvice() {
    try (Device device = Simulation.device()) {
      SimulatedCuda simulated = SimulatedCuda.orSkip();
      Block plain = device.allocate(1 << 20, 64, BlockKind.UNIFIED);
      assertThat(simulated.calls("cuMemAdvise")).isZero();
      Block hinted = device.allocate(1 << 20, 64, BlockKind.UNIFIED, HINTED);
      assertThat(simulated.calls("cuMemAdvise")).isEqualTo(3);
      plain.free();
      hinted.free();
    }
  }

  @Test
  void aRefusedHintIsNoError() {
    try (Device device = Simulation.device()) {
      SimulatedCuda.orSkip().fail("cuMemAdvise", 1, 1, -1);
      device.allocate(1 << 20, 64, BlockKind.UNIFIED, HINTED).free();
    }
  }

  @Test
  void aUsersHintsAndPrefetchesReachTheDriver() {
    SimulatedCuda simulated = Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(cuda(tidepool));
      try (UnifiedBuffer<float[]> buffer =
          memory.allocate(
              ElementType.FLOAT,
              1 << 20,
              Allocation.at(MemoryLocation.UNIFIED).mostlyDevice().zeroed())) {
        assertThat(simulated.calls("cuMemAdvise")).isEqualTo(2);
        buffer.prefetchToDevice();
        memory.synchronize();
        assertThat(simulated.calls("cuMemPrefetchAsync")).isOne();
        buffer.prefetchToHost();
        memory.synchronize();
        assertThat(simulated.calls("cuMemPrefetchAsync")).isEqualTo(2);
      }
    }
  }

  private static Accelerator cuda(Tidepool tidepool) {
    return tidepool.accelerator("cuda:0");
  }

  @ParameterizedTest
  @ValueSource(strings = {"auto", "plain"})
  void moreThanTheCardHasIsAnErrorWithTheNumbers(String way) {
    Simulation.with(1);
    try (Device device =
        Simulation.under(
            Map.of("tidepool.cuda.memory", way), () -> Simulation.devices().getFirst())) {
      assertThatThrownBy(() -> device.allocate(2L << 30, 256, BlockKind.DEVICE))
          .isInstanceOfSatisfying(
              OutOfDeviceMemoryException.class,
              failure -> {
                assertThat(failure.requestedBytes()).isEqualTo(2L << 30);
                assertThat(failure.totalBytes()).isEqualTo(1L << 30);
                assertThat(failure.freeBytes()).isBetween(1L, 1L << 30);
                assertThat(failure).hasMessageContaining("CUDA_ERROR_OUT_OF_MEMORY");
              });
    }
  }

  @Test
  void noMoreIsPinnedThanTheOptionAllows() {
    SimulatedCuda simulated = Simulation.with(1);
    MemoryOptions options =
        MemoryOptions.builder().pinnedLimit(1 << 20).pooling(false).calibration(false).build();
    try (Tidepool tidepool =
        Discovery.using(List.of(new CudaProvider()), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory(cuda(tidepool));
      try (UnifiedBuffer<byte[]> first =
              memory.allocate(ElementType.BYTE, 1 << 20, MemoryLocation.PINNED);
          UnifiedBuffer<byte[]> second =
              memory.allocate(ElementType.BYTE, 1 << 20, MemoryLocation.PINNED)) {
        assertThat(simulated.calls("cuMemHostAlloc")).isOne();
        assertThat(memory.statistics().pinnedBytes()).isEqualTo(1 << 20);
        assertThat(memory.statistics().pinnedFallbacks()).isOne();
        second.copyFrom(first);
      }
      assertThat(memory.statistics().pinnedBytes()).isZero();
    }
  }

  @Test
  void moreHostMemoryThanCanBeLockedIsAnErrorThatNamesTheHost() {
    try (Device device = Simulation.device()) {
      SimulatedCuda.orSkip().setAll("pinned_limit", 1 << 20);
      assertThatThrownBy(() -> device.allocate(2 << 20, 64, BlockKind.PINNED))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasFieldOrPropertyWithValue("totalBytes", HostMemory.now().totalBytes())
          .hasMessageContaining("on the host");
    }
  }

  @Test
  void managedMemoryMayExceedTheCardOnlyWithConcurrentAccess() {
    Simulation.with(1).set(0, "memory", 64 << 20);
    try (Device device = Simulation.devices().getFirst()) {
      Block first = device.allocate(48 << 20, 64, BlockKind.UNIFIED);
      device.allocate(48 << 20, 64, BlockKind.UNIFIED).free();
      first.free();
    }
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "memory", 64 << 20);
    simulated.set(0, "attribute." + Simulation.CONCURRENT_MANAGED_ACCESS, 0);
    try (Device device = Simulation.devices().getFirst()) {
      Block first = device.allocate(48 << 20, 64, BlockKind.UNIFIED);
      assertThat(first.hostAccess()).isEqualTo(HostAccess.MAPPED);
      assertThatThrownBy(() -> device.allocate(48 << 20, 64, BlockKind.UNIFIED))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("concurrent managed access");
      first.free();
      device.allocate(48 << 20, 64, BlockKind.UNIFIED).free();
    }
  }

  @Test
  void oneUnifiedBufferMayBeLargerThanTheCardOnlyWithConcurrentAccess() {
    int length = 24 << 20;
    Simulation.with(1).set(0, "memory", 64 << 20);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(cuda(tidepool));
      try (UnifiedBuffer<int[]> buffer =
          memory.allocate(ElementType.INT, length, MemoryLocation.UNIFIED)) {
        assertThat(buffer.byteSize()).isGreaterThan(64 << 20);
        buffer.fill(new int[] {41});
        memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", buffer));
        int[] ends = new int[2];
        buffer.copyTo(0, ends, 0, 1);
        buffer.copyTo(length - 1, ends, 1, 1);
        assertThat(ends).containsOnly(42);
      }
      // What is on the card alone is as large as the card at most.
      assertThatThrownBy(() -> memory.allocate(ElementType.INT, length))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("larger than the largest that cuda:0 allows, " + (64 << 20));
    }
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "memory", 64 << 20);
    simulated.set(0, "attribute." + Simulation.CONCURRENT_MANAGED_ACCESS, 0);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThatThrownBy(
              () ->
                  tidepool
                      .memory(cuda(tidepool))
                      .allocate(ElementType.INT, length, MemoryLocation.UNIFIED))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("allows, " + (64 << 20) + " bytes")
          .hasMessageContaining("concurrent managed access");
      assertThat(simulated.calls("cuMemAllocManaged")).isZero();
    }
  }

  @Test
  void managedMemoryBeyondTheCardIsBoundedByTheManagersLimit() {
    Simulation.with(1).set(0, "memory", 64 << 20);
    try (Tidepool tidepool =
        Discovery.using(
            List.of(new CudaProvider()),
            () -> Tidepool.open(MemoryOptions.builder().memoryLimit(96 << 20).build()))) {
      UnifiedMemoryManager memory = tidepool.memory(cuda(tidepool));
      try (UnifiedBuffer<byte[]> first =
              memory.allocate(ElementType.BYTE, 40 << 20, MemoryLocation.UNIFIED);
          UnifiedBuffer<byte[]> second =
              memory.allocate(ElementType.BYTE, 40 << 20, MemoryLocation.UNIFIED)) {
        assertThat(first.byteSize() + second.byteSize()).isGreaterThan(64 << 20);
        assertThatThrownBy(
                () -> memory.allocate(ElementType.BYTE, 32 << 20, MemoryLocation.UNIFIED))
            .isInstanceOf(OutOfDeviceMemoryException.class);
      }
    }
  }

  @Test
  void withoutManagedMemoryUnifiedIsUnsupportedAndTheReasonIsTold() {
    Simulation.with(1);
    try (Device device =
        Simulation.under(
            Map.of("tidepool.cuda.managed", "none"), () -> Simulation.devices().getFirst())) {
      assertThatThrownBy(() -> device.allocate(64, 64, BlockKind.UNIFIED))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("tidepool.cuda.managed=none");
    }
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0);
    try (Device device = Simulation.devices().getFirst()) {
      assertThatThrownBy(() -> device.allocate(64, 64, BlockKind.UNIFIED))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("has no managed memory");
    }
  }

  @Test
  void aTidepoolMayDoWithoutManagedMemoryBesideOthersThatHaveIt() {
    Simulation.with(1);
    MemoryOptions.Builder options = MemoryOptions.builder().calibration(false);
    try (Tidepool with = Simulation.open(new CudaProvider());
        Tidepool without =
            Discovery.using(
                List.of(new CudaProvider()),
                () -> Tidepool.open(options.managedMemory(false).build()));
        UnifiedBuffer<byte[]> unified =
            with.memory().allocate(ElementType.BYTE, 64, MemoryLocation.UNIFIED)) {
      assertThat(unified.location()).isEqualTo(MemoryLocation.UNIFIED);
      assertThat(without.memory().accelerator().id()).isEqualTo("cuda:0");
      assertThat(without.memory().accelerator().capabilities())
          .doesNotContain(Capability.UNIFIED_MEMORY);
      assertThatThrownBy(
              () -> without.memory().allocate(ElementType.BYTE, 64, MemoryLocation.UNIFIED))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("managed-memory");
    }
  }

  @Test
  void aBlockIsFreedOnceAndNotUsedAfterwards() {
    try (Device device = Simulation.device();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      block.free();
      assertThatIllegalStateException().isThrownBy(block::free).withMessageContaining("twice");
      assertThatIllegalStateException()
          .isThrownBy(() -> queue.fill(block, 0, 64, (byte) 0))
          .withMessageContaining("after its free");
    }
  }

  @Test
  void impossibleSizesAndAlignmentsAreRefused() {
    try (Device device = Simulation.device()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> device.allocate(0, 64, BlockKind.DEVICE));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> device.allocate(64, 48, BlockKind.DEVICE));
    }
  }
}
