package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Memory of the caller that the driver locks where it lies. */
@ExtendWith(NothingLeaks.class)
class LockedMemoryTest {
  private static final int LENGTH = 100_000;
  private static final long BYTES = 4L * LENGTH;

  private SimulatedCuda simulated;

  @BeforeEach
  void twoDevices() {
    simulated = Simulation.with(2);
  }

  private static UnifiedMemoryManager memory(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("cuda:0"));
  }

  private static UnifiedBuffer<int[]> wrapped(UnifiedMemoryManager memory, MemorySegment segment) {
    return memory.wrap(ElementType.INT, segment, MemoryLocation.PINNED);
  }

  @Test
  void itsTransfersGoStraightBothWaysWhileTheBufferIsOpen() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider());
        Arena arena = Arena.ofShared()) {
      UnifiedMemoryManager memory = memory(tidepool);
      MemorySegment segment = arena.allocate(BYTES, 64);
      try (UnifiedBuffer<int[]> host = wrapped(memory, segment);
          UnifiedBuffer<int[]> device = memory.allocate(ElementType.INT, LENGTH)) {
        assertThat(simulated.calls("cuMemHostRegister_v2")).isOne();
        assertThat(host.location()).isEqualTo(MemoryLocation.PINNED);
        assertThat(memory.statistics().pinnedBytes()).isEqualTo(BYTES);
        for (int i = 0; i < LENGTH; i++) {
          segment.setAtIndex(ValueLayout.JAVA_INT, i, 3 * i);
        }
        simulated.forget();
        device.copyFrom(host);
        // One command and no staging block.
        assertThat(simulated.calls("cuMemcpyHtoDAsync_v2")).isOne();
        assertThat(simulated.calls("cuMemHostAlloc")).isZero();
        segment.fill((byte) 0);
        host.copyFrom(device);
        assertThat(simulated.calls("cuMemcpyDtoHAsync_v2")).isOne();
        assertThat(simulated.calls("cuMemHostAlloc")).isZero();
        int[] expected = new int[LENGTH];
        Arrays.setAll(expected, i -> 3 * i);
        assertThat(segment.toArray(ValueLayout.JAVA_INT)).isEqualTo(expected);
      }
      assertThat(simulated.calls("cuMemHostUnregister")).isOne();
      assertThat(DeviceMemory.LOCKED.contain(segment)).isFalse();
      assertThat(memory.statistics().pinnedBytes()).isZero();
    }
  }

  @Test
  void otherDevicesKnowItAsLockedToo() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider());
        Arena arena = Arena.ofShared()) {
      UnifiedMemoryManager other = tidepool.memory(tidepool.accelerator("cuda:1"));
      MemorySegment segment = arena.allocate(BYTES, 64).fill((byte) 1);
      try (UnifiedBuffer<int[]> host = wrapped(memory(tidepool), segment);
          UnifiedBuffer<int[]> device = other.allocate(ElementType.INT, LENGTH)) {
        device.copyFrom(host);
        int[] read = new int[LENGTH];
        device.copyTo(read);
        assertThat(read).containsOnly(0x01010101);
      }
    }
  }

  @Test
  void itsArenaCannotBeClosedBeforeTheBuffer() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      Arena arena = Arena.ofShared();
      UnifiedBuffer<int[]> host = wrapped(memory(tidepool), arena.allocate(BYTES, 64));
      assertThatIllegalStateException().isThrownBy(arena::close);
      host.close();
      arena.close();
    }
  }

  @Test
  void itStaysTheCallersThoughOthersNeedRoom() {
    MemoryOptions options =
        MemoryOptions.builder().calibration(false).memoryLimit(64L << 20).build();
    try (Arena arena = Arena.ofShared();
        Tidepool tidepool =
            Discovery.using(List.of(new CudaProvider()), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = memory(tidepool);
      MemorySegment segment = arena.allocate(BYTES, 64).fill((byte) 9);
      try (UnifiedBuffer<int[]> host = wrapped(memory, segment)) {
        host.prefetchToDevice();
        memory.synchronize();
        memory.allocate(ElementType.BYTE, 60 << 20).close();
        assertThat(host.asSegment().address()).isEqualTo(segment.address());
        assertThat(segment.get(ValueLayout.JAVA_INT, 0)).isEqualTo(0x09090909);
      }
    }
  }

  @Test
  @Tag("pageable")
  void whereTheDriverOrTheLimitRefusesItStaysAsItIsAndThatIsCounted() {
    MemoryOptions options =
        MemoryOptions.builder().calibration(false).pinnedLimit(BYTES - 1).build();
    try (Arena arena = Arena.ofShared();
        Tidepool limited =
            Discovery.using(List.of(new CudaProvider()), () -> Tidepool.open(options));
        Tidepool tidepool = Simulation.open(new CudaProvider())) {
      MemorySegment segment = arena.allocate(BYTES, 64).fill((byte) 2);
      for (Tidepool each : List.of(limited, tidepool)) {
        UnifiedMemoryManager memory = memory(each);
        simulated.fail("cuMemHostRegister_v2", 1, ErrorCodes.CUDA_ERROR_OUT_OF_MEMORY);
        try (UnifiedBuffer<int[]> host = wrapped(memory, segment);
            UnifiedBuffer<int[]> device = memory.allocate(ElementType.INT, LENGTH)) {
          assertThat(memory.statistics().pinnedFallbacks()).isOne();
          assertThat(memory.statistics().pinnedBytes()).isZero();
          device.copyFrom(host);
          int[] read = new int[LENGTH];
          device.copyTo(read);
          assertThat(read).containsOnly(0x02020202);
        }
      }
    }
  }

  @Test
  void aMappedFileIsNotLockedForItMayVanish(@TempDir Path folder) throws Exception {
    Path file = Files.write(folder.resolve("f"), new byte[4096]);
    try (Tidepool tidepool = Simulation.open(new CudaProvider());
        Arena arena = Arena.ofShared();
        FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      UnifiedMemoryManager memory = memory(tidepool);
      MemorySegment mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, 4096, arena);
      wrapped(memory, mapped).close();
      // Does not say that it is mapped.
      MemorySegment view =
          MemorySegment.ofBuffer(
              channel.map(FileChannel.MapMode.READ_WRITE, 0, 4096).asFloatBuffer());
      wrapped(memory, view).close();
      assertThat(simulated.calls("cuMemHostRegister_v2")).isZero();
      assertThat(memory.statistics().pinnedFallbacks()).isEqualTo(2);
    }
  }

  @Test
  void itIsWritableAsMappingAndSliceLikeAnyOther() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider());
        Arena arena = Arena.ofShared()) {
      MemorySegment segment = arena.allocate(BYTES, 64);
      try (UnifiedBuffer<int[]> host = wrapped(memory(tidepool), segment)) {
        try (var mapping = host.slice(10, 5).map(MapMode.WRITE)) {
          mapping.segment().fill((byte) 1);
        }
        assertThat(segment.getAtIndex(ValueLayout.JAVA_INT, 9)).isZero();
        assertThat(segment.getAtIndex(ValueLayout.JAVA_INT, 10)).isEqualTo(0x01010101);
      }
    }
  }

  @Test
  void wrongArgumentsAreNamed() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider());
        Arena arena = Arena.ofShared()) {
      UnifiedMemoryManager memory = memory(tidepool);
      MemorySegment segment = arena.allocate(BYTES, 64);
      for (MemoryLocation wrong : List.of(MemoryLocation.DEVICE, MemoryLocation.UNIFIED)) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> memory.wrap(ElementType.INT, segment, wrong))
            .withMessageContaining("HOST or PINNED");
      }
      assertThatIllegalArgumentException().isThrownBy(() -> wrapped(memory, segment.asSlice(0, 6)));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> wrapped(memory, MemorySegment.ofArray(new int[4])));
      assertThat(memory.statistics().pinnedBytes()).isZero();
    }
  }
}
