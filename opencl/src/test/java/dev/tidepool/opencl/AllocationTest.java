package dev.tidepool.opencl;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Capability;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What memory a device gives, and what it says when it gives none. */
@ExtendWith(NothingLeaks.class)
class AllocationTest {

  @ParameterizedTest
  @EnumSource
  void aBlockAboveTheMaximumIsRefusedWithTheMaximum(MemoryMode mode) {
    try (Device device = mode.open()) {
      long maximum = device.info().maximumAllocation();
      assertThatThrownBy(() -> device.allocate(maximum + 1, 64, BlockKind.DEVICE))
          .isInstanceOfSatisfying(
              OutOfDeviceMemoryException.class,
              refused -> assertThat(refused.requestedBytes()).isEqualTo(maximum + 1))
          .hasMessageContaining("at most " + maximum + " bytes")
          .hasMessageContaining("opencl:0");
    }
  }

  @ParameterizedTest
  @EnumSource
  void theMaximumHasRoomForTheAlignmentOfLargeBlocks(MemoryMode mode) {
    try (Device device = mode.open()) {
      long most = ((OpenClDevice) device).properties().maxAllocation();
      boolean pointers = mode.name().endsWith("SHARED_POINTERS");
      assertThat(device.info().maximumAllocation()).isEqualTo(pointers ? most - 4096 : most);
      assertThat(device.info().maximumAllocation())
          .isEqualTo(device.largestBlock(BlockKind.DEVICE));
    }
  }

  @Test
  void aBlockOfTheMaximumIsAllocated() {
    try (Device device = Pocl.device(Map.of())) {
      OpenClDevice opencl = (OpenClDevice) device;
      DeviceMemory small =
          new DeviceMemory(
              "opencl:0",
              ChangedProperties.withMaximum(opencl.properties(), 1 << 20),
              opencl.context(),
              new Settings(Settings.Svm.AUTO, true, false));
      Block block = small.allocate(small.largest(BlockKind.DEVICE), 4096, BlockKind.DEVICE, 0);
      assertThat(block.byteSize()).isEqualTo((1 << 20) - 4096);
      block.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void freeMemoryIsAnEstimateThatFollowsTheBlocks(MemoryMode mode) {
    try (Device device = mode.open()) {
      long before = device.memory().freeBytes();
      assertThat(device.memory().freeIsEstimate()).isTrue();
      assertThat(before).isEqualTo(device.memory().totalBytes());
      Block block = device.allocate(1 << 20, 64, BlockKind.DEVICE);
      assertThat(device.memory().freeBytes()).isEqualTo(before - (1 << 20));
      block.free();
      assertThat(device.memory().freeBytes()).isEqualTo(before);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aSegmentOfAFreedBlockThrows(MemoryMode mode) {
    try (Device device = mode.open()) {
      for (BlockKind kind : BlockKind.values()) {
        if (kind == BlockKind.UNIFIED && !mode.unified) {
          continue;
        }
        Block block = device.allocate(64, 64, kind);
        MemorySegment segment = block.segment();
        block.free();
        if (segment != null) {
          assertThatThrownBy(() -> segment.get(JAVA_BYTE, 0))
              .isInstanceOf(IllegalStateException.class);
        }
        assertThatThrownBy(block::free)
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("twice");
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFreedBlockIsRefusedByCommands(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      block.free();
      assertThatThrownBy(() -> queue.fill(block, 0, 64, (byte) 0))
          .isInstanceOf(IllegalStateException.class);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"FINE_SHARED_POINTERS", "COARSE_SHARED_POINTERS", "SHARED_BUFFERS"})
  void hostReachableMemoryIsAlignedAsAsked(MemoryMode mode) {
    try (Device device = mode.open()) {
      for (long alignment = 1; alignment <= 1 << 20; alignment *= 4) {
        for (BlockKind kind : BlockKind.values()) {
          Block block = device.allocate(100, alignment, kind);
          assertThat(block.segment().address() % alignment).as("%s", kind).isZero();
          assertThat(block.segment().byteSize()).isEqualTo(100);
          block.free();
        }
      }
    }
  }

  @Test
  void deviceMemoryThatTheHostDoesNotSeeHasTheDriversAlignment() {
    try (Device device = MemoryMode.DISCRETE.open()) {
      assertThatThrownBy(() -> device.allocate(64, 1 << 20, BlockKind.DEVICE))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("1048576");
    }
  }

  @Test
  void unifiedMemoryNeedsSharedPointersOrSharedMemory() {
    try (Device device = MemoryMode.DISCRETE_WITHOUT_POINTERS.open()) {
      assertThat(device.info().can(Capability.UNIFIED_MEMORY)).isFalse();
      assertThatThrownBy(() -> device.allocate(64, 64, BlockKind.UNIFIED))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("allocate DEVICE");
    }
  }

  @ParameterizedTest
  @EnumSource
  void capabilitiesSayHowMemoryIsReached(MemoryMode mode) {
    try (Device device = mode.open()) {
      boolean shared = device.info().can(Capability.SHARED_MEMORY);
      assertThat(shared).isEqualTo(!mode.name().startsWith("DISCRETE"));
      assertThat(device.info().can(Capability.PINNED_MEMORY)).isEqualTo(!shared);
      assertThat(device.info().can(Capability.UNIFIED_MEMORY)).isEqualTo(mode.unified);
    }
  }

  @Test
  void pinnedMemoryIsNotBoundToTheDevicesMaximum() {
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue()) {
      DeviceMemory tiny =
          new DeviceMemory(
              "opencl:0",
              ChangedProperties.withMaximum(((OpenClDevice) device).properties(), 1024),
              ((OpenClDevice) device).context(),
              new Settings(Settings.Svm.AUTO, true, false));
      long service =
          OpenCL.clCreateCommandQueue(
              tiny.context().handle(), ((OpenClDevice) device).properties().handle());
      Block pinned = tiny.allocate(4096, 64, BlockKind.PINNED, service);
      Block block = device.allocate(4096, 64, BlockKind.DEVICE);
      pinned.segment().fill((byte) 5);
      Bytes.await(queue.copy(pinned, 0, block, 0, 4096));
      assertThat(Bytes.read(queue, block, 0, 4096)).containsOnly(5);
      pinned.free();
      block.free();
      OpenCL.clReleaseCommandQueue(service);
    }
  }

  @Test
  void theDriversRefusalIsAnOutOfMemoryError() {
    try (Device device = Pocl.device(Map.of())) {
      OpenClDevice opencl = (OpenClDevice) device;
      DeviceMemory boundless =
          new DeviceMemory(
              "opencl:0",
              ChangedProperties.withMaximum(opencl.properties(), Long.MAX_VALUE),
              opencl.context(),
              new Settings(Settings.Svm.AUTO, true, false));
      assertThatThrownBy(() -> boundless.allocate(1L << 60, 64, BlockKind.DEVICE, 0))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("clSVMAlloc")
          .hasMessageContaining("bytes are free");
    }
  }
}
