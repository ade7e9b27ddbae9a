package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Short copies are made at once by the calling thread, and keep all promises of longer ones. */
final class ShortCopiesTest {
  private static final int LENGTH = 256;

  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();

  @AfterEach
  void close() {
    memory.close();
  }

  private static void runAll(boolean virtual, List<Callable<Void>> tasks) throws Exception {
    try (ExecutorService threads =
        virtual
            ? Executors.newVirtualThreadPerTaskExecutor()
            : Executors.newFixedThreadPool(tasks.size())) {
      for (Future<Void> end : threads.invokeAll(tasks)) {
        end.get();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void copiesOfManyThreadsAreWholeWhileOthersUseTheBuffer(boolean virtual) throws Exception {
    for (int round = 0; round < 25; round++) {
      try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, LENGTH)) {
        buffer.copyFrom(new int[LENGTH]);
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int t = 1; t <= 3; t++) {
          int value = t;
          tasks.add(
              () -> {
                int[] array = new int[LENGTH];
                Arrays.fill(array, value);
                for (int i = 0; i < 200; i++) {
                  buffer.copyFrom(array);
                }
                return null;
              });
          tasks.add(
              () -> {
                int[] seen = new int[LENGTH];
                for (int i = 0; i < 200; i++) {
                  buffer.copyTo(seen);
                  assertThat(IntStream.of(seen).distinct().count()).isOne();
                }
                return null;
              });
        }
        tasks.add(
            () -> {
              int[] seen = new int[LENGTH];
              for (int i = 0; i < 20; i++) {
                buffer.fill((byte) i);
                buffer.copyToAsync(seen).join();
                assertThat(IntStream.of(seen).distinct().count()).isOne();
                memory.defragment();
              }
              return null;
            });
        runAll(virtual, tasks);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aCloseMeetsCopiesOfOtherThreads(boolean used) throws Exception {
    for (int round = 0; round < 300; round++) {
      UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, LENGTH);
      if (used) {
        buffer.fill((byte) 1);
      }
      Callable<Void> copies =
          () -> {
            int[] array = new int[LENGTH];
            Throwable thrown = null;
            while (thrown == null) {
              thrown =
                  catchThrowable(
                      () -> {
                        buffer.copyFrom(array);
                        buffer.copyTo(array);
                      });
            }
            assertThat(thrown)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed");
            return null;
          };
      Callable<Void> closes =
          () -> {
            Thread.onSpinWait();
            buffer.close();
            return null;
          };
      runAll(false, List.of(copies, copies, closes));
    }
    assertThat(memory.statistics().totalAllocated()).isZero();
    assertThat(memory.buffers()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(MemoryLocation.class)
  void copiesCountAsAccessesAndChangeTheStateAsLongOnesDo(MemoryLocation location) {
    Instant before = Instant.now();
    try (UnifiedBuffer<int[]> small = memory.allocate(ElementType.INT, LENGTH, location);
        UnifiedBuffer<int[]> large = memory.allocate(ElementType.INT, 1 << 20, location)) {
      for (UnifiedBuffer<int[]> buffer : List.of(small, large)) {
        int[] array = new int[(int) buffer.length()];
        buffer.copyFrom(array);
        buffer.copyTo(array);
        buffer.copyTo(array);
      }
      assertThat(small.state()).isEqualTo(large.state());
      for (UnifiedBuffer<int[]> buffer : List.of(small, large)) {
        assertThat(buffer.metrics().hits()).isEqualTo(3);
        assertThat(buffer.metrics().misses()).isZero();
        assertThat(buffer.metrics().lastAccess()).isAfter(before.minusSeconds(1));
        buffer.copyTo(new int[(int) buffer.length()]);
        assertThat(buffer.metrics().hits()).isEqualTo(4);
      }
    }
  }

  @Test
  void aCopyComesBehindWhatWasAskedForBefore() {
    try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, LENGTH);
        Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"))) {
      int[] seen = new int[LENGTH];
      buffer.copyFrom(seen);
      for (int i = 1; i <= 1000; i++) {
        var _ = kernel.executeAsync(Arguments.of("y", buffer));
        buffer.copyTo(seen);
        assertThat(seen).containsOnly(i);
      }
    }
  }

  @Test
  void badRangesAndClosedBuffersAreRefused() {
    UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, LENGTH);
    int[] array = new int[LENGTH];
    assertThatThrownBy(() -> buffer.copyFrom(array, 1, 0, LENGTH))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> buffer.copyFrom(array, 0, 1, LENGTH))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> buffer.copyTo(0, array, 0, -1))
        .isInstanceOf(IndexOutOfBoundsException.class);
    buffer.close();
    assertThatThrownBy(() -> buffer.copyFrom(array)).hasMessageContaining("is closed");
    assertThatThrownBy(() -> buffer.copyTo(array)).hasMessageContaining("is closed");
    // Another buffer has the block now, perhaps: nothing of it may be touched.
    try (UnifiedBuffer<int[]> next = memory.allocate(ElementType.INT, LENGTH)) {
      next.copyFrom(array);
      array[0] = 7;
      assertThatThrownBy(() -> buffer.copyFrom(array)).hasMessageContaining("is closed");
      int[] seen = new int[LENGTH];
      next.copyTo(seen);
      assertThat(seen).containsOnly(0);
    }
  }
}
