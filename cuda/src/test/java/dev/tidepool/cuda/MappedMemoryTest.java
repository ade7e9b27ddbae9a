package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Device memory that is mapped piece by piece: fragmentation costs nothing, and nothing moves. */
@ExtendWith(NothingLeaks.class)
class MappedMemoryTest {
  private static final int MIB = 1 << 20;

  private static List<Device> devices(String mapping) {
    return Simulation.under(Map.of("tidepool.cuda.vmm", mapping), Simulation::devices);
  }

  private static MemorySource source(Block block) {
    return ((CudaBlock) block).source();
  }

  private static long address(Block block) {
    return ((CudaBlock) block).address();
  }

  @Test
  void whatNoPlaceIsLeftForInARowIsMadeOfPieces() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "memory", 64 * MIB);
    try (Device device = devices("auto").getFirst();
        Queue queue = device.createQueue()) {
      Bytes bytes = new Bytes(device, queue);
      long free = device.memory().freeBytes();
      Block whole = device.allocate(20 * MIB, 256, BlockKind.DEVICE);
      assertThat(source(whole)).isEqualTo(MemorySource.POOL);
      whole.free();
      simulated.set(0, "largest_piece", 6 * MIB);
      Block pieces = device.allocate(20 * MIB, 256, BlockKind.DEVICE);
      assertThat(source(pieces)).isEqualTo(MemorySource.MAPPED);
      byte[] pattern = Bytes.pattern(20 * MIB, 1);
      bytes.write(pattern, pieces, 0);
      assertThat(bytes.read(pieces, 0, 20 * MIB)).isEqualTo(pattern);
      assertThat(device.memory().freeBytes()).isEqualTo(free - 20 * MIB);
      pieces.free();
      assertThat(device.memory().freeBytes()).isEqualTo(free);
    }
  }

  @Test
  void kernelsAndCopiesWorkAcrossPieces() {
    SimulatedCuda simulated = Simulation.with(2);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      simulated.setAll("largest_piece", 2 * MIB);
      UnifiedMemoryManager first = tidepool.memory(tidepool.accelerator("cuda:0"));
      UnifiedMemoryManager second = tidepool.memory(tidepool.accelerator("cuda:1"));
      int count = 3 * MIB;
      float[] values = new float[count];
      for (int i = 0; i < count; i++) {
        values[i] = i;
      }
      try (UnifiedBuffer<float[]> x = first.copyOf(values);
          UnifiedBuffer<float[]> y = first.allocate(ElementType.FLOAT, count);
          UnifiedBuffer<float[]> far = second.allocate(ElementType.FLOAT, count)) {
        first
            .compile(dev.tidepool.KernelSource.elementwise("y = x + 1"))
            .execute(dev.tidepool.Arguments.of("x", x, "y", y));
        far.copyFrom(y);
        float[] read = new float[count];
        far.copyTo(read);
        for (int i = 0; i < count; i++) {
          values[i] += 1;
        }
        assertThat(read).isEqualTo(values);
        assertThat(simulated.calls("cuMemMap")).isGreaterThan(3 * 6 - 1);
      }
    }
  }

  @Test
  void freedBlocksOfDifferentOriginServeOneLargeBlock() {
    Simulation.with(1).set(0, "memory", 64 * MIB);
    try (Device device = devices("always").getFirst();
        Queue queue = device.createQueue()) {
      List<Block> blocks = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        blocks.add(device.allocate(8 * MIB, 256, BlockKind.DEVICE));
      }
      byte[] pattern = Bytes.pattern(8 * MIB, 2);
      Bytes bytes = new Bytes(device, queue);
      bytes.write(pattern, blocks.get(3), 0);
      for (int i = 0; i < 8; i += 2) {
        blocks.get(i).free();
      }
      Block large = device.allocate(32 * MIB, 256, BlockKind.DEVICE);
      bytes.write(Bytes.pattern(32 * MIB, 3), large, 0);
      assertThat(bytes.read(blocks.get(3), 0, 8 * MIB)).isEqualTo(pattern);
      assertThatThrownBy(() -> device.allocate(2 * MIB, 256, BlockKind.DEVICE))
          .isInstanceOfSatisfying(
              OutOfDeviceMemoryException.class,
              failure -> {
                assertThat(failure.requestedBytes()).isEqualTo(2 * MIB);
                assertThat(failure.freeBytes()).isZero();
              });
      large.free();
      for (int i = 1; i < 8; i += 2) {
        blocks.get(i).free();
      }
    }
  }

  @Test
  void theSegmentGrowsBehindItsBlocksWhichStayWhereTheyAre() {
    SimulatedCuda simulated = Simulation.with(1);
    try (Device device = devices("always").getFirst();
        Queue queue = device.createQueue()) {
      Bytes bytes = new Bytes(device, queue);
      Block first = device.allocate(2 * MIB, 256, BlockKind.DEVICE);
      byte[] pattern = Bytes.pattern(2 * MIB, 4);
      bytes.write(pattern, first, 0);
      Block second = device.allocate(16 * MIB, 256, BlockKind.DEVICE);
      assertThat(address(second)).isEqualTo(address(first) + 2 * MIB);
      Block third = device.allocate(4 * MIB, 256, BlockKind.DEVICE);
      assertThat(address(third)).isEqualTo(address(second) + 16 * MIB);
      long hole = address(second);
      second.free();
      Block again = device.allocate(8 * MIB, 256, BlockKind.DEVICE);
      assertThat(address(again)).isEqualTo(hole);
      assertThat(bytes.read(first, 0, 2 * MIB)).isEqualTo(pattern);
      assertThat(simulated.calls("cuMemAddressReserve")).isOne();
      List.of(first, third, again).forEach(Block::free);
    }
  }

  @Test
  void roundingWastesAnEighthAtMost() {
    Simulation.with(1);
    try (Device device = devices("always").getFirst()) {
      Map.of(
              2 * MIB,
              MemorySource.MAPPED,
              2 * MIB + 1,
              MemorySource.POOL,
              MIB,
              MemorySource.POOL,
              15 * MIB,
              MemorySource.MAPPED,
              16 * MIB + 1,
              MemorySource.MAPPED)
          .forEach(
              (bytes, source) -> {
                Block block = device.allocate(bytes, 256, BlockKind.DEVICE);
                assertThat(source(block)).as("%d bytes", bytes).isEqualTo(source);
                block.free();
              });
    }
  }

  @Test
  void blocksAreAlignedAsAskedFor() {
    Simulation.with(1);
    try (Device device = devices("always").getFirst()) {
      Block small = device.allocate(2 * MIB, 256, BlockKind.DEVICE);
      Block aligned = device.allocate(2 * MIB, 64 * MIB, BlockKind.DEVICE);
      assertThat(address(aligned) % (64 * MIB)).isZero();
      small.free();
      aligned.free();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void withoutItWhatDoesNotFitInARowIsAnError(boolean bySetting) {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "largest_piece", 4 * MIB);
    if (!bySetting) {
      simulated.set(
          0, "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
    }
    try (Device device = devices(bySetting ? "none" : "auto").getFirst()) {
      assertThatThrownBy(() -> device.allocate(8 * MIB, 256, BlockKind.DEVICE))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      assertThat(simulated.calls("cuMemAddressReserve")).isZero();
    }
  }

  @Test
  void whateverCallFailsNothingIsLeftAndTheDeviceGoesOn() {
    SimulatedCuda simulated = Simulation.with(1);
    try (Device device = devices("always").getFirst()) {
      simulated.set(0, "largest_piece", 4 * MIB);
      Map<ObjectKind, Long> before = Simulation.liveObjects();
      List<String> leaks = simulated.leaks();
      long free = device.memory().freeBytes();
      Map<String, Integer> calls =
          Map.of("cuMemGetInfo_v2", 1, "cuMemCreate", 6, "cuMemMap", 4, "cuMemSetAccess", 1);
      for (String function : calls.keySet()) {
        for (int nth = 1; nth <= calls.get(function); nth++) {
          // CUDA_ERROR_UNKNOWN
          simulated.fail(function, nth, 999);
          assertThatThrownBy(() -> device.allocate(16 * MIB, 256, BlockKind.DEVICE))
              .as("call %d of %s", nth, function)
              .isInstanceOf(TidepoolException.class);
          assertThat(Simulation.liveObjects()).isEqualTo(before);
          assertThat(simulated.leaks()).isEqualTo(leaks);
          assertThat(device.memory().freeBytes()).isEqualTo(free);
        }
      }
      Block block = device.allocate(16 * MIB, 256, BlockKind.DEVICE);
      block.free();
      assertThat(device.memory().freeBytes()).isEqualTo(free);
    }
  }

  @Test
  void addressesThatCannotBeUnmappedAreNotUsedAgain() {
    SimulatedCuda simulated = Simulation.with(1);
    Device device = devices("always").getFirst();
    Block stuck = device.allocate(2 * MIB, 256, BlockKind.DEVICE);
    long address = address(stuck);
    simulated.fail("cuMemUnmap", 1, 999);
    assertThatThrownBy(stuck::free).isInstanceOf(TidepoolException.class);
    Block next = device.allocate(2 * MIB, 256, BlockKind.DEVICE);
    assertThat(address(next)).isEqualTo(address + 2 * MIB);
    next.free();
    // The addresses of a block that could neither be finished nor undone are not reused either.
    simulated.fail("cuMemSetAccess", 1, 999);
    simulated.fail("cuMemUnmap", 1, 999);
    assertThatThrownBy(() -> device.allocate(2 * MIB, 256, BlockKind.DEVICE))
        .isInstanceOf(TidepoolException.class);
    Block last = device.allocate(2 * MIB, 256, BlockKind.DEVICE);
    assertThat(address(last)).isEqualTo(address + 4 * MIB);
    last.free();
    device.close();
    simulated.reset(1);
  }

  @Test
  void manyThreadsMapAndUnmapAtTheSameTime() throws Exception {
    Simulation.with(1).set(0, "memory", 512 * MIB);
    try (Device device = devices("always").getFirst();
        Queue queue = device.createQueue();
        ExecutorService platform = Executors.newFixedThreadPool(4);
        ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> work = new ArrayList<>();
      for (int t = 0; t < 8; t++) {
        int value = t + 1;
        Callable<Void> task =
            () -> {
              for (int i = 0; i < 10; i++) {
                Block block = device.allocate((2L + value) * MIB, 256, BlockKind.DEVICE);
                Block mapped = device.allocate(4L * MIB, 256, BlockKind.DEVICE);
                Bytes.await(queue.fill(mapped, 0, 4L * MIB, (byte) value));
                assertThat(new Bytes(device, queue).read(mapped, 4 * MIB - 10, 10))
                    .containsOnly(value);
                block.free();
                mapped.free();
              }
              return null;
            };
        work.add((t % 2 == 0 ? platform : virtual).submit(task));
      }
      for (Future<?> done : work) {
        done.get();
      }
    }
  }
}
