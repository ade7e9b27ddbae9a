package dev.tidepool.metal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Where memory lies, how much there is, and memory of others. */
@ExtendWith(NothingLeaks.class)
class AllocationTest {
  private static final long PAGE = 16 << 10;

  @ParameterizedTest
  @EnumSource(BlockKind.class)
  void sharedMemoryIsTheHostsToo(BlockKind kind) {
    try (Device device = Simulation.device()) {
      Block block = device.allocate(10_000, 4096, kind);
      assertThat(block.hostAccess()).isEqualTo(HostAccess.DIRECT);
      MemorySegment segment = block.segment();
      assertThat(segment.byteSize()).isEqualTo(10_000);
      assertThat(segment.address() % 4096).isZero();
      block.free();
      assertThatThrownBy(() -> segment.get(JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(block::free)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("freed twice");
    }
  }

  @Test
  void privateMemoryIsTheDevicesAlone() {
    Simulation.with(1);
    try (Device device = Simulation.privateDevices().getFirst()) {
      Block block = device.allocate(10_000, 64, BlockKind.DEVICE);
      assertThat(block.hostAccess()).isEqualTo(HostAccess.NONE);
      assertThat(block.segment()).isNull();
      block.free();
      assertThatThrownBy(() -> device.allocate(10, 1 << 20, BlockKind.DEVICE))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("16384 bytes and no more");
    }
  }

  @Test
  void aBufferBeyondTheLargestIsRefusedWithTheNumbers() {
    Simulation.with(1).setAll("max_buffer", 1 << 20);
    try (Device device = Simulation.devices().getFirst()) {
      assertThatThrownBy(() -> device.allocate(2 << 20, 64, BlockKind.DEVICE))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("metal:0")
          .hasMessageContaining("2097152 bytes")
          .hasMessageContaining("at most 1048576 bytes");
    }
  }

  @Test
  void aWorkingSetBeyondTheRecommendedOneIsRefused() {
    Simulation.with(1).setAll("working_set", 8 << 20);
    try (Device device = Simulation.devices().getFirst()) {
      Block block = device.allocate(6 << 20, 64, BlockKind.DEVICE);
      assertThat(device.memory().freeBytes()).isLessThanOrEqualTo(2 << 20);
      assertThatThrownBy(() -> device.allocate(3 << 20, 64, BlockKind.DEVICE))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("the 8388608 bytes that the device recommends");
      block.free();
      device.allocate(3 << 20, 64, BlockKind.DEVICE).free();
    }
  }

  @Test
  void idleMemoryIsGivenUpBeforeAnAllocationFails() {
    Simulation.with(1).setAll("working_set", 8 << 20);
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("metal:0"));
      memory.allocate(ElementType.BYTE, 5 << 20).close();
      try (UnifiedBuffer<byte[]> other = memory.allocate(ElementType.BYTE, 7 << 20)) {
        assertThat(other.byteSize()).isEqualTo(7 << 20);
      }
    }
  }

  @Test
  void sharedStorageMovesNoByte() {
    SimulatedMetal simulated = Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider(), "shared")) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("metal:0"));
      try (UnifiedBuffer<float[]> x = memory.copyOf(new float[] {1, 2, 3})) {
        memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", x));
        x.asSegment().setAtIndex(ValueLayout.JAVA_FLOAT, 1, 10);
        memory.compile(KernelSource.elementwise("x = x * 2")).execute(Arguments.of("x", x));
        float[] all = new float[3];
        x.copyTo(all);
        assertThat(all).containsExactly(4, 20, 8);
      }
    }
    assertThat(simulated.calls("copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:"))
        .isZero();
  }

  /** Whole pages that are adopted are computed on where they lie. */
  @Test
  void adoptedPagesAreUsedInPlace() {
    SimulatedMetal simulated = Simulation.with(1);
    AtomicInteger released = new AtomicInteger();
    try (Arena arena = Arena.ofShared();
        Tidepool tidepool = Simulation.open(new MetalProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("metal:0"));
      MemorySegment pages = arena.allocate(4 * PAGE, PAGE);
      pages.setAtIndex(ValueLayout.JAVA_FLOAT, 5, 20);
      try (UnifiedBuffer<float[]> x =
          memory.adopt(
              ElementType.FLOAT, NativeHandle.of(pages), () -> released.incrementAndGet())) {
        memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", x));
        assertThat(x.location()).isEqualTo(MemoryLocation.HOST);
      }
      assertThat(released).hasValue(1);
      assertThat(pages.getAtIndex(ValueLayout.JAVA_FLOAT, 5)).isEqualTo(21);
    }
    assertThat(simulated.calls("newBufferWithBytesNoCopy:length:options:deallocator:"))
        .isEqualTo(1);
  }

  @Test
  void otherAdoptedMemoryIsCopied() {
    SimulatedMetal simulated = Simulation.with(1);
    try (Arena arena = Arena.ofShared();
        Tidepool tidepool = Simulation.open(new MetalProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("metal:0"));
      MemorySegment bytes = arena.allocate(4000, 16);
      try (UnifiedBuffer<float[]> x =
          memory.adopt(ElementType.FLOAT, NativeHandle.of(bytes), () -> {})) {
        memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", x));
      }
      assertThat(bytes.getAtIndex(ValueLayout.JAVA_FLOAT, 999)).isEqualTo(1);
    }
    assertThat(simulated.calls("newBufferWithBytesNoCopy:length:options:deallocator:")).isZero();
  }

  @Test
  void anAdoptedBufferThatTheHostDoesNotReachIsLetGo() {
    SimulatedMetal simulated = Simulation.with(1);
    try (MetalDevice device = (MetalDevice) Simulation.devices().getFirst()) {
      long buffer = Metal.newBuffer(device.handle(), 64, Metal.SHARED);
      NativeHandle handle = new NativeHandle(NativeKind.METAL_BUFFER, buffer, 0, 64);
      simulated.fail("contents", 1, CommandErrors.INTERNAL);
      assertThatThrownBy(() -> device.adopt(handle, true))
          .isInstanceOf(UnsupportedOperationException.class);
      NativeCall.release(ObjectKind.BUFFER, buffer);
    }
  }
}
