package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.diagnostics.DiagnosticsLevel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A manager holds no more than its limit, and goes on below it. */
final class MemoryLimitTest {
  private static final int MIB = 1 << 20;
  private static final long SEED = Long.getLong("tidepool.test.seed", System.nanoTime());

  private static UnifiedMemoryManager limited(long bytes) {
    return UnifiedMemoryManager.create(MemoryOptions.builder().memoryLimit(bytes).build());
  }

  @Test
  void whatIsBeyondTheLimitIsRefusedWithTheNumbers() {
    try (UnifiedMemoryManager memory = limited(4 * MIB);
        UnifiedBuffer<byte[]> _ =
            memory.allocate(
                ElementType.BYTE,
                3 * MIB,
                Allocation.at(MemoryLocation.DEVICE).tag("the big one"))) {
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 2 * MIB))
          .isInstanceOfSatisfying(
              OutOfDeviceMemoryException.class,
              e -> {
                assertThat(e.requestedBytes()).isEqualTo(2 * MIB);
                assertThat(e.freeBytes()).isEqualTo(MIB);
              })
          .hasMessageStartingWith(
              "the memory-limit of 4 MiB is reached, no room for 2 MiB on cpu:0")
          .hasMessageContaining("Raise memory-limit or call limit(bytes), close buffers, name a")
          .message()
          .doesNotContain(" free")
          .contains("3 MiB used of the memory-limit of 4 MiB")
          .contains("0 bytes pooled")
          .contains("'the big one' 3 MiB")
          .endsWith("The last refusal: the memory-limit of 4 MiB leaves 1 MiB");
      memory.allocate(ElementType.BYTE, MIB).close();
    }
  }

  @Test
  void aLimitThatIsOneByteTooLowRefuses() {
    try (UnifiedMemoryManager memory = limited(3 * MIB - 1);
        UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, 2 * MIB)) {
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, MIB))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      memory.limit(3 * MIB);
      memory.allocate(ElementType.BYTE, MIB).close();
      assertThat(memory.statistics().reservedBytes()).isEqualTo(3 * MIB);
    }
  }

  @Test
  void theFiveLargestTagsAreNamed() {
    try (UnifiedMemoryManager memory = limited(MIB)) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 1; i <= 6; i++) {
        Allocation tagged = Allocation.at(MemoryLocation.DEVICE).tag("tag " + i);
        buffers.add(memory.allocate(ElementType.BYTE, i * 1000, tagged));
      }
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, MIB))
          .message()
          .containsSubsequence("'tag 6'", "'tag 5'", "'tag 4'", "'tag 3'", "'tag 2'")
          .doesNotContain("'tag 1'");
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  /** No buffer is moved to files for a request that cannot be served. */
  @Test
  void aRequestBeyondTheLimitIsRefusedAtOnce(@TempDir Path directory) {
    MemoryOptions options =
        MemoryOptions.builder().memoryLimit(4 * MIB).spillDirectory(directory).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
        UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, 3 * MIB)) {
      memory.allocate(ElementType.BYTE, MIB).close();
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 5 * MIB))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessage(
              "the memory-limit of 4 MiB is too low for 5 MiB on cpu:0, whatever is freed. Raise"
                  + " memory-limit or call limit(bytes), or work in smaller chunks");
      assertThat(memory.statistics().spilledBytes()).isZero();
      assertThat(memory.statistics().totalPooled()).as("idle blocks stay").isEqualTo(MIB);
      memory.allocate(ElementType.BYTE, 2 * MIB).close();
      assertThat(memory.statistics().spilledBytes()).isEqualTo(3 * MIB);
    }
  }

  @Test
  void idleBlocksCountAndGiveWayToOtherSizes() {
    try (UnifiedMemoryManager memory = limited(4 * MIB)) {
      memory.allocate(ElementType.BYTE, 3 * MIB).close();
      assertThat(memory.statistics().totalPooled()).isEqualTo(3 * MIB);
      try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 2 * MIB)) {
        assertThat(buffer.byteSize()).isEqualTo(2 * MIB);
        assertThat(memory.statistics().totalPooled()).isZero();
      }
    }
  }

  @Test
  void theLargestIdleBlockIsToldWhereTheRestIsScattered() {
    try (UnifiedMemoryManager memory = limited(MIB)) {
      List<UnifiedBuffer<byte[]>> small = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        small.add(memory.allocate(ElementType.BYTE, 1000));
      }
      // The parts of a slab lie idle as long as one of them is in use.
      small.subList(0, 19).forEach(UnifiedBuffer::close);
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, MIB))
          .isInstanceOfSatisfying(
              OutOfDeviceMemoryException.class,
              e -> {
                assertThat(e.pooledBytes()).isPositive();
                assertThat(e.largestIdleBytes()).isEqualTo(1024);
              })
          .hasMessageContaining("pooled (largest block 1 KiB)");
      small.getLast().close();
      memory.allocate(ElementType.BYTE, MIB).close();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aLimitHoldsWithAndWithoutAPool(boolean pooling) {
    MemoryOptions options = MemoryOptions.builder().memoryLimit(2 * MIB).pooling(pooling).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      for (int i = 0; i < 10; i++) {
        memory.allocate(ElementType.BYTE, 2 * MIB).close();
      }
      UnifiedBuffer<byte[]> held = memory.allocate(ElementType.BYTE, MIB);
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 2 * MIB))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      held.close();
    }
  }

  @Test
  void aPoolThatMayKeepMoreThanTheLimitStaysWithinIt() {
    MemoryOptions options =
        MemoryOptions.builder().memoryLimit(4 * MIB).maxPoolBytes(64L * MIB).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      for (long bytes = 100; bytes <= 4 * MIB; bytes *= 2) {
        memory.allocate(ElementType.BYTE, bytes).close();
        assertThat(memory.statistics().reservedBytes()).isLessThanOrEqualTo(4 * MIB);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(DiagnosticsLevel.class)
  void aLimitHoldsAtEveryLevelOfDiagnostics(DiagnosticsLevel level) {
    MemoryOptions options =
        MemoryOptions.builder().memoryLimit(MIB).diagnostics(level).zeroOnRelease(true).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      UnifiedBuffer<byte[]> half = memory.allocate(ElementType.BYTE, MIB / 2);
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, MIB))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      half.close();
      memory.allocate(ElementType.BYTE, MIB / 2).close();
    }
  }

  @Test
  void unreachableBuffersAreReclaimedBeforeTheLimitRefuses() {
    try (UnifiedMemoryManager memory = limited(4 * MIB)) {
      for (int i = 0; i < 20; i++) {
        memory.allocate(ElementType.BYTE, MIB);
      }
      assertThat(memory.statistics().totalAllocations()).isEqualTo(20);
      assertThat(memory.statistics().leaks()).isPositive();
    }
  }

  @Test
  void manyThreadsNeverExceedTheLimitAndAllGoesBack() throws Exception {
    System.out.println("seed " + SEED);
    long limit = 8L * MIB;
    try (UnifiedMemoryManager memory = limited(limit);
        ExecutorService threads = Executors.newFixedThreadPool(8)) {
      AtomicBoolean done = new AtomicBoolean();
      Future<Long> watched = threads.submit(() -> highest(memory, done));
      List<Future<?>> work = new ArrayList<>();
      for (int thread = 0; thread < 7; thread++) {
        SplittableRandom random = new SplittableRandom(SEED + thread);
        work.add(threads.submit(() -> allocateAtRandom(memory, random)));
      }
      for (Future<?> each : work) {
        each.get();
      }
      done.set(true);
      assertThat(watched.get()).isBetween(1L, limit);
      memory.trimExcess();
      assertThat(memory.statistics().reservedBytes()).isZero();
      // All of it is there again: nothing that was reserved was forgotten.
      memory.allocate(ElementType.BYTE, limit).close();
    }
  }

  private static long highest(UnifiedMemoryManager memory, AtomicBoolean done) {
    long highest = 0;
    while (!done.get()) {
      highest = Math.max(highest, memory.statistics().reservedBytes());
    }
    return highest;
  }

  private static void allocateAtRandom(UnifiedMemoryManager memory, SplittableRandom random) {
    for (int i = 0; i < 300; i++) {
      long bytes = 1 + random.nextLong(1L << random.nextInt(8, 21));
      try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes)) {
        if (random.nextInt(4) == 0) {
          buffer.fill((byte) i);
        }
      } catch (OutOfDeviceMemoryException e) {
        assertThat(e.requestedBytes()).isEqualTo(bytes);
      }
    }
  }

  @Test
  void theLimitChangesWhileTheManagerRunsButNotBelowWhatIsInUse() {
    try (UnifiedMemoryManager memory = limited(4 * MIB);
        UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, 2 * MIB)) {
      memory.allocate(ElementType.BYTE, 2 * MIB).close();
      assertThatThrownBy(() -> memory.limit(MIB))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a memory-limit of 1048576 bytes is below the 2097152 bytes in use")
          .hasMessageContaining("stays 4194304 bytes");
      memory.limit(2 * MIB);
      assertThat(memory.limit()).hasValue(2 * MIB);
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, MIB))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      memory.limit(3 * MIB);
      memory.allocate(ElementType.BYTE, MIB).close();
      assertThatThrownBy(() -> memory.limit(0)).isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  @Timeout(120)
  void aHigherLimitServesARequestThatWaits() throws Exception {
    try (UnifiedMemoryManager memory = limited(8 * MIB);
        UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, 6 * MIB)) {
      FutureTask<Reservation> request =
          new FutureTask<>(() -> memory.reserve("job", 4 * MIB, Duration.ofHours(1)));
      awaitWaiting(Thread.ofPlatform().start(request));
      memory.limit(64 * MIB);
      request.get().close();
    }
  }

  @Test
  @Timeout(120)
  void aLowerLimitRefusesAReservationThatItCanNeverHold() throws Exception {
    try (UnifiedMemoryManager memory = limited(8 * MIB);
        UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, 4 * MIB)) {
      FutureTask<Reservation> request =
          new FutureTask<>(() -> memory.reserve("job", 6 * MIB, Duration.ofHours(1)));
      awaitWaiting(Thread.ofPlatform().start(request));
      memory.limit(5 * MIB);
      assertThatThrownBy(request::get).hasCauseInstanceOf(OutOfDeviceMemoryException.class);
    }
  }

  private static void awaitWaiting(Thread thread) {
    await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
  }

  @Test
  @Timeout(120)
  void theLimitOfABusyManagerIsLoweredAsLongAsLittleIsInUse() throws Exception {
    try (UnifiedMemoryManager memory = limited(256 * MIB);
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      AtomicBoolean ended = new AtomicBoolean();
      List<Future<?>> users = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        SplittableRandom random = new SplittableRandom(SEED + i);
        users.add(
            threads.submit(
                () -> {
                  while (!ended.get()) {
                    memory.allocate(ElementType.BYTE, random.nextInt(1, MIB)).close();
                  }
                }));
      }
      try {
        for (int i = 0; i < 50; i++) {
          memory.limit(4 * MIB);
          assertThat(memory.statistics().reservedBytes()).isLessThanOrEqualTo(4 * MIB);
          memory.limit(256 * MIB);
          TimeUnit.MILLISECONDS.sleep(2);
        }
      } finally {
        ended.set(true);
      }
      for (Future<?> user : users) {
        user.get();
      }
    }
  }

  @Test
  void aManagerWithoutALimitGetsNoneLater() {
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(MemoryOptions.builder().build())) {
      assertThatThrownBy(() -> memory.limit(MIB))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("set memory-limit when it is made");
    }
  }

  @Test
  void aLimitIsAnOptionThatPropertiesOverride() {
    assertThat(MemoryOptions.builder().build().memoryLimit()).isEqualTo(-1);
    System.setProperty("tidepool.memory-limit", "3m");
    try {
      assertThat(MemoryOptions.builder().memoryLimit(MIB).build().memoryLimit()).isEqualTo(3 * MIB);
    } finally {
      System.clearProperty("tidepool.memory-limit");
    }
    assertThatThrownBy(() -> MemoryOptions.builder().memoryLimit(0).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("memory-limit is 0");
  }

  /** What is idle in a slab of which a part is in use does not go back. */
  @Test
  void aLowerLimitThatATrimDoesNotReachChangesNothing() {
    try (UnifiedMemoryManager memory = limited(8 * MIB)) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        buffers.add(memory.allocate(ElementType.BYTE, 4096));
      }
      for (int i = 1; i < 64; i++) {
        if (i % 8 != 0) {
          buffers.get(i).close();
        }
      }
      long live = 8 * 4096;
      assertThatThrownBy(() -> memory.limit(live)).hasMessageContaining("The limit stays");
      assertThat(memory.limit()).hasValue(8 * MIB);
      buffers.forEach(UnifiedBuffer::close);
    }
  }
}
