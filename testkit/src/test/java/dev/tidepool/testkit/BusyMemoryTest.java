package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Memory that others are using right now is waited for. */
@ExtendWith(QuietLog.class)
@Timeout(120)
class BusyMemoryTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int THREADS = 8;
  private static final int ROUNDS = 12;

  private static final int ELEMENTS = MEBIBYTE / 4;

  /** Room for four buffers. */
  private final SimulatedProvider simulated =
      new SimulatedProvider(
          SimulatedHardware.discrete().withMemory(4 * MEBIBYTE).withMaximumAllocation(MEBIBYTE));

  private final Tidepool tidepool =
      Discovery.using(
          List.of(simulated), () -> Tidepool.open(MemoryOptions.builder().pooling(false).build()));
  private final UnifiedMemoryManager memory = tidepool.memory();

  @AfterEach
  void nothingIsLeft() {
    memory.synchronize();
    assertThat(memory.statistics().totalAllocated()).isZero();
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  /** Buffers that hold 1, 2, 3 and so on, everywhere. */
  private List<UnifiedBuffer<int[]>> numbered(int count) {
    List<UnifiedBuffer<int[]>> buffers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      buffers.add(memory.copyOf(filled(i + 1)));
    }
    return buffers;
  }

  private static int[] filled(int value) {
    int[] array = new int[ELEMENTS];
    Arrays.fill(array, value);
    return array;
  }

  private static void assertHolds(UnifiedBuffer<int[]> buffer, int value) {
    int[] seen = new int[ELEMENTS];
    buffer.copyTo(seen);
    assertThat(Arrays.mismatch(seen, filled(value)))
        .as("first difference to %s", value)
        .isEqualTo(-1);
  }

  private static void await(List<? extends Future<?>> futures) throws Exception {
    for (Future<?> future : futures) {
      future.get();
    }
  }

  @Test
  void kernelsInTheBackgroundOverThreeTimesTheRoomAllRun() throws Exception {
    Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
    List<UnifiedBuffer<int[]>> buffers = numbered(12);
    List<Future<Void>> runs = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      buffers.forEach(buffer -> runs.add(increment.executeAsync(Arguments.of("y", buffer))));
    }
    await(runs);
    for (int i = 0; i < buffers.size(); i++) {
      assertHolds(buffers.get(i), i + 1 + ROUNDS);
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void kernelsInTheBackgroundThatHaveAPartOfWhatTheyNeedDoNotWaitForEachOther() throws Exception {
    Kernel add = memory.compile(KernelSource.elementwise("y = y + x"));
    List<UnifiedBuffer<int[]>> buffers = numbered(8);
    int[] model = IntStream.rangeClosed(1, 8).toArray();
    List<Future<Void>> runs = new ArrayList<>();
    for (int i = 0; i < 8 * ROUNDS; i++) {
      int y = i % 8;
      int x = (i + 3) % 8;
      model[y] += model[x];
      runs.add(add.executeAsync(Arguments.of("y", buffers.get(y), "x", buffers.get(x))));
    }
    await(runs);
    for (int i = 0; i < 8; i++) {
      assertHolds(buffers.get(i), model[i]);
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void threadsWhoseKernelsHaveAPartOfWhatTheyNeedDoNotWaitForEachOther() throws Exception {
    Kernel add = memory.compile(KernelSource.elementwise("y = y + x + z"));
    List<UnifiedBuffer<int[]>> sources = numbered(6);
    List<UnifiedBuffer<int[]>> sums = numbered(6);
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      List<Future<?>> turns = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        int first = thread;
        turns.add(
            threads.submit(
                () -> {
                  for (int i = first; i < first + 2 * 6; i++) {
                    add.execute(
                        Arguments.of(
                            "y", sums.get(i % 6),
                            "x", sources.get((i + first) % 6),
                            "z", sources.get((i + first + 2) % 6)));
                  }
                }));
      }
      await(turns);
    }
    int[] model = IntStream.rangeClosed(1, 6).toArray();
    for (int first = 0; first < THREADS; first++) {
      for (int i = first; i < first + 2 * 6; i++) {
        model[i % 6] += (i + first) % 6 + 1 + (i + first + 2) % 6 + 1;
      }
    }
    for (int i = 0; i < 6; i++) {
      assertHolds(sums.get(i), model[i]);
      assertHolds(sources.get(i), i + 1);
    }
    sums.forEach(UnifiedBuffer::close);
    sources.forEach(UnifiedBuffer::close);
  }

  @Test
  void arraysAreArgumentsOfMoreKernelsInTheBackgroundThanTheDeviceHasRoomFor() throws Exception {
    Kernel add = memory.compile(KernelSource.elementwise("y = y + x"));
    List<UnifiedBuffer<int[]>> buffers = numbered(6);
    List<Future<Void>> runs = new ArrayList<>();
    for (int i = 0; i < 6 * 5; i++) {
      runs.add(add.executeAsync(Arguments.of("y", buffers.get(i % 6), "x", filled(i))));
    }
    await(runs);
    for (int i = 0; i < 6; i++) {
      int sum = 0;
      for (int k = i; k < 6 * 5; k += 6) {
        sum += k;
      }
      assertHolds(buffers.get(i), i + 1 + sum);
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void buffersThatAreClosedBehindTheirKernelsAndKernelsThatAreCancelledLeaveNothing()
      throws Exception {
    Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
    UnifiedBuffer<int[]> kept = memory.copyOf(filled(0));
    List<Future<Void>> runs = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      try (UnifiedBuffer<int[]> passing = memory.copyOf(filled(i))) {
        runs.add(increment.executeAsync(Arguments.of("y", kept)));
        increment.executeAsync(Arguments.of("y", passing)).cancel(false);
        runs.add(increment.executeAsync(Arguments.of("y", passing)));
      }
    }
    await(runs);
    assertHolds(kept, 100);
    kept.close();
  }

  @Test
  void moreThreadsThanTheDeviceHasRoomForAllGetTheirTurn() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      List<CompletableFuture<Void>> turns = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        turns.add(CompletableFuture.runAsync(() -> incrementOften(memory, increment), threads));
      }
      await(turns);
    }
  }

  private static void incrementOften(UnifiedMemoryManager memory, Kernel increment) {
    try (UnifiedBuffer<int[]> y = memory.copyOf(new int[MEBIBYTE / 4])) {
      for (int round = 0; round < ROUNDS; round++) {
        increment.execute(Arguments.of("y", y));
      }
      int[] seen = new int[MEBIBYTE / 4];
      y.copyTo(seen);
      assertThat(seen).containsOnly(ROUNDS);
    }
  }
}
