package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.Defragmentation;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What the library does where memory is short, and with many small transfers, on a small card. */
@ExtendWith(NothingLeaks.class)
class PressureTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int FLOATS = 2 * MEBIBYTE / Float.BYTES;

  @TempDir private Path folder;
  private SimulatedCuda simulated;

  @BeforeEach
  void aCardOf16Mebibytes() {
    simulated = Simulation.with(1);
    simulated.set(0, "memory", 16 * MEBIBYTE);
  }

  private static Tidepool open(MemoryOptions.Builder options) {
    return Discovery.using(
        List.of(new CudaProvider()), () -> Tidepool.open(options.calibration(false).build()));
  }

  private static UnifiedMemoryManager memory(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("cuda:0"));
  }

  private static List<UnifiedBuffer<float[]>> filled(
      UnifiedMemoryManager memory, int count, MemoryLocation location) {
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      buffers.add(memory.allocate(ElementType.FLOAT, FLOATS, location));
      buffers.getLast().fill(new float[] {i, -i});
    }
    return buffers;
  }

  private static void incrementAll(
      UnifiedMemoryManager memory, List<UnifiedBuffer<float[]>> buffers, int rounds) {
    Kernel increment = memory.compile(KernelSource.elementwise("x = x + 1"));
    for (int round = 0; round < rounds; round++) {
      buffers.forEach(buffer -> increment.execute(Arguments.of("x", buffer)));
    }
  }

  private static void verify(List<UnifiedBuffer<float[]>> buffers, int added) {
    float[] seen = new float[FLOATS];
    for (int i = 0; i < buffers.size(); i++) {
      buffers.get(i).copyTo(seen);
      float[] expected = {i + added, -i + added};
      assertRepeats(expected, seen);
    }
  }

  /** Compared at once: a million assertions take seconds. */
  private static void assertRepeats(float[] pattern, float[] seen) {
    float[] expected = new float[seen.length];
    for (int i = 0; i < seen.length; i++) {
      expected[i] = pattern[i % pattern.length];
    }
    assertThat(Arrays.mismatch(seen, expected)).as("first element that differs").isEqualTo(-1);
  }

  @Test
  void whatTheCardHasNoRoomForTakesTurnsOnIt() {
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      UnifiedMemoryManager memory = memory(tidepool);
      List<UnifiedBuffer<float[]>> buffers = filled(memory, 20, MemoryLocation.HOST);
      incrementAll(memory, buffers, 2);
      assertThat(memory.statistics().evictions()).isPositive();
      verify(buffers, 2);
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  @Tag("pageable") // at the limit staging blocks are plain memory
  void whatALimitHasNoRoomForGoesToAFileAndComesBack() {
    MemoryOptions.Builder options =
        MemoryOptions.builder().memoryLimit(16L * MEBIBYTE).spillDirectory(folder);
    try (Tidepool tidepool = open(options)) {
      UnifiedMemoryManager memory = memory(tidepool);
      // One and a half times the limit.
      List<UnifiedBuffer<float[]>> buffers = filled(memory, 12, MemoryLocation.DEVICE);
      incrementAll(memory, buffers, 2);
      assertThat(memory.statistics().spills()).isPositive();
      assertThat(memory.statistics().unspills()).isPositive();
      verify(buffers, 2);
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void smallBuffersMoveTogetherAndKeepTheirBytes() {
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      UnifiedMemoryManager memory = memory(tidepool);
      int each = 4096;
      List<UnifiedBuffer<int[]>> buffers = new ArrayList<>();
      for (int i = 0; i < 600; i++) {
        buffers.add(memory.allocate(ElementType.INT, each));
        buffers.getLast().fill(new int[] {i});
      }
      for (int i = 0; i < buffers.size(); i++) {
        if (i % 8 != 0) {
          buffers.get(i).close();
        }
      }
      long before = memory.statistics().reservedBytes();
      Defragmentation done = memory.defragment();
      assertThat(done.movedBytes()).isPositive();
      memory.trimExcess();
      assertThat(memory.statistics().reservedBytes()).isLessThan(before);
      int[] seen = new int[each];
      for (int i = 0; i < buffers.size(); i += 8) {
        buffers.get(i).copyTo(seen);
        assertThat(Arrays.stream(seen).distinct().toArray()).as("buffer %d", i).containsExactly(i);
        buffers.get(i).close();
      }
    }
  }

  @Test
  void aListOfSmallTransfersIsFewCommands() {
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      UnifiedMemoryManager memory = memory(tidepool);
      int each = 1024;
      int count = 1000;
      try (UnifiedBuffer<int[]> device = memory.allocate(ElementType.INT, (long) count * each)) {
        List<Transfer<int[]>> list = new ArrayList<>();
        for (int i = 0; i < count; i++) {
          int[] array = new int[each];
          Arrays.fill(array, i);
          list.add(Transfer.of(array, device.slice((long) i * each, each)));
        }
        simulated.forget();
        memory.transfers().transfer(list, TransferOptions.defaults());
        // Most of what a small copy costs is the wait for it.
        assertThat(simulated.calls("cuEventRecord")).isLessThan(count / 5);
        int[] seen = new int[count * each];
        device.copyTo(seen);
        int[] expected = new int[seen.length];
        Arrays.setAll(expected, i -> i / each);
        assertThat(Arrays.mismatch(seen, expected)).as("first that differs").isEqualTo(-1);
      }
    }
  }

  @Test
  void whatTheCardHasOnlyInPiecesServesALargeBuffer() {
    simulated.set(0, "largest_piece", 3 * MEBIBYTE);
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      UnifiedMemoryManager memory = memory(tidepool);
      try (UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 2L * MEBIBYTE)) {
        buffer.fill(new float[] {1, 2, 3});
        incrementAll(memory, List.of(buffer), 1);
        float[] seen = new float[2 * MEBIBYTE];
        buffer.copyTo(seen);
        assertRepeats(new float[] {2, 3, 4}, seen);
      }
    }
  }
}
