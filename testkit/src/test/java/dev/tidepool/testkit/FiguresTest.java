package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.PeakScope;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.pooling.SizeClassStatistics;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The figures add up: while eight threads allocate, use, slice, close and trim, every snapshot
 * makes sense; when they rest, every sum is exact. {@code -Dtidepool.test.seed} repeats a run.
 */
@Timeout(120)
class FiguresTest {
  private static final int THREADS = 8;
  private static final int PHASES = 5;
  private static final int HELD = 8;
  private static final int LARGEST = 768 << 10;

  private final long seed = Long.getLong("tidepool.test.seed", System.nanoTime());
  private final AtomicLong heldBytes = new AtomicLong();
  private final AtomicLong heldBuffers = new AtomicLong();
  private final AtomicBoolean done = new AtomicBoolean();

  @Test
  void onTheCpu() throws Exception {
    // Options of its own, so that no other manager shares the pool.
    MemoryOptions options = MemoryOptions.builder().maxPoolBytesPerClass(1L << 29).build();
    try (Tidepool tidepool = Discovery.using(List.of(), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory();
      stress(memory, 400);
      MemoryStatistics after = memory.statistics();
      assertThat(after.poolHits() + after.poolMisses())
          .isEqualTo(sum(memory, pool -> pool.hits() + pool.misses()));
      assertThat(after.poolMisses()).isEqualTo(sum(memory, PoolStatistics::misses));
    }
  }

  @Test
  void onADeviceTooSmallForWhatLives() throws Exception {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete().withMemory(5 << 20));
    try (Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open)) {
      stress(tidepool.memory(), 60);
      assertThat(tidepool.memory().statistics().evictions()).isPositive();
    }
  }

  private void stress(UnifiedMemoryManager memory, int steps) throws Exception {
    System.out.println("-Dtidepool.test.seed=" + seed);
    CyclicBarrier rest =
        new CyclicBarrier(THREADS, () -> assertQuiet(memory, heldBytes.get(), heldBuffers.get()));
    try (ExecutorService threads = Executors.newThreadPerTaskExecutor(FiguresTest::thread);
        PeakScope whole = memory.pushPeak("the whole test")) {
      Future<?> observer = threads.submit(() -> observe(memory));
      List<Future<?>> workers = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        workers.add(threads.submit(worker(memory, i, steps, rest)));
      }
      try {
        assertThat(workers)
            .allSatisfy(worker -> assertThat(worker).succeedsWithin(Duration.ofSeconds(100)));
      } finally {
        done.set(true);
      }
      observer.get();
      assertQuiet(memory, 0, 0);
      assertThat(whole.peakBytes()).isEqualTo(memory.statistics().peakUsage());
    }
    memory.trimExcess();
    assertThat(memory.bytesByTag()).isEmpty();
    assertThat(memory.buffers()).isEmpty();
    assertThat(sum(memory, PoolStatistics::idleBytes)).isZero();
  }

  private static Thread thread(Runnable task) {
    return Thread.ofPlatform().daemon().unstarted(task);
  }

  private Callable<Void> worker(
      UnifiedMemoryManager memory, int number, int steps, CyclicBarrier rest) {
    return () -> {
      SplittableRandom random = new SplittableRandom(seed + number);
      List<UnifiedBuffer<byte[]>> held = new ArrayList<>();
      for (int phase = 0; phase < PHASES; phase++) {
        try (PeakScope scope = memory.pushPeak("phase " + phase)) {
          for (int step = 0; step < steps; step++) {
            try {
              step(memory, random, held, "worker " + number);
            } catch (OutOfDeviceMemoryException everythingIsInUse) {
              held.forEach(this::close);
              held.clear();
            }
          }
          long mine = held.stream().mapToLong(UnifiedBuffer::byteSize).sum();
          assertThat(scope.peakBytes())
              .isGreaterThanOrEqualTo(mine)
              .isLessThanOrEqualTo(memory.statistics().peakUsage());
        }
        if (phase == PHASES - 1) {
          while (!held.isEmpty()) {
            close(held.removeLast());
          }
        }
        rest.await();
      }
      return null;
    };
  }

  private void step(
      UnifiedMemoryManager memory,
      SplittableRandom random,
      List<UnifiedBuffer<byte[]>> held,
      String tag) {
    int what = random.nextInt(100);
    if (what == 0) {
      memory.trimExcess();
    } else if (held.isEmpty() || (what < 40 && held.size() < HELD)) {
      int bytes = random.nextInt(1, random.nextBoolean() ? 4096 : LARGEST);
      MemoryLocation location = random.nextBoolean() ? MemoryLocation.DEVICE : MemoryLocation.HOST;
      held.add(memory.allocate(ElementType.BYTE, bytes, Allocation.at(location).tag(tag)));
      heldBytes.addAndGet(bytes);
      heldBuffers.incrementAndGet();
    } else if (what < 70) {
      UnifiedBuffer<byte[]> buffer = held.get(random.nextInt(held.size()));
      long from = random.nextLong(buffer.length());
      byte[] written = new byte[(int) Math.min(100, buffer.length() - from)];
      Arrays.fill(written, (byte) what);
      try (UnifiedBuffer<byte[]> slice = buffer.slice(from, written.length)) {
        slice.copyFrom(written);
        byte[] read = new byte[written.length];
        slice.copyTo(read);
        assertThat(read).isEqualTo(written);
        slice.prefetchToDevice();
      }
    } else {
      close(held.remove(random.nextInt(held.size())));
    }
  }

  private void close(UnifiedBuffer<byte[]> buffer) {
    heldBytes.addAndGet(-buffer.byteSize());
    heldBuffers.decrementAndGet();
    buffer.close();
  }

  private Void observe(UnifiedMemoryManager memory) {
    MemoryStatistics before = memory.statistics();
    while (!done.get()) {
      MemoryStatistics now = memory.statistics();
      assertMakesSense(now);
      assertGrew(before, now, MemoryStatistics::totalAllocations);
      assertGrew(before, now, MemoryStatistics::totalFreed);
      assertGrew(before, now, MemoryStatistics::totalBytesAllocated);
      assertGrew(before, now, MemoryStatistics::totalBytesFreed);
      assertGrew(before, now, MemoryStatistics::peakUsage);
      assertGrew(before, now, MemoryStatistics::peakReserved);
      assertGrew(before, now, MemoryStatistics::poolMisses);
      assertGrew(before, now, MemoryStatistics::evictions);
      assertThat(now.since(before).allocationsPerSecond()).isNotNegative();
      before = now;
      memory.pools().forEach(FiguresTest::assertMakesSense);
      assertThat(memory.bytesByTag())
          .allSatisfy(
              (tag, bytes) -> {
                assertThat(tag).startsWith("worker ");
                assertThat(bytes).isBetween(1L, (long) HELD * LARGEST * 2);
              });
      assertThat(memory.buffers()).allMatch(buffer -> buffer.byteSize() > 0);
    }
    return null;
  }

  private static void assertGrew(
      MemoryStatistics before, MemoryStatistics now, ToLongFunction<MemoryStatistics> figure) {
    assertThat(figure.applyAsLong(now)).isGreaterThanOrEqualTo(figure.applyAsLong(before));
  }

  private static void assertMakesSense(MemoryStatistics now) {
    assertThat(now.totalAllocated()).isBetween(0L, now.peakUsage());
    assertThat(now.totalFreed()).isBetween(0L, now.totalAllocations());
    assertThat(now.totalBytesFreed()).isBetween(0L, now.totalBytesAllocated());
    assertThat(now.activeBuffers()).isEqualTo(now.totalAllocations() - now.totalFreed());
    assertThat(now.reservedBytes()).isBetween(0L, now.peakReserved());
    assertThat(now.hitRate()).isBetween(0.0, 1.0);
    assertThat(List.of(now.totalPooled(), now.pinnedBytes(), now.leaks(), now.poolHits()))
        .allMatch(figure -> figure >= 0);
    assertThat(now.leaks()).isZero();
  }

  private static void assertMakesSense(PoolStatistics pool) {
    assertThat(pool.reservedBytes()).isBetween(0L, pool.peakReserved());
    assertThat(pool.hitRate()).isBetween(0.0, 1.0);
    assertThat(pool.driverAllocations()).isGreaterThanOrEqualTo(0);
    assertThat(pool.idleBytes())
        .isNotNegative()
        .isEqualTo(classes(pool, SizeClassStatistics::idleBytes));
    assertThat(pool.leasedBytes())
        .isNotNegative()
        .isEqualTo(classes(pool, SizeClassStatistics::leasedBytes));
  }

  /** What holds when nobody allocates or frees. */
  private static void assertQuiet(UnifiedMemoryManager memory, long bytes, long buffers) {
    memory.synchronize();
    MemoryStatistics now = memory.statistics();
    assertMakesSense(now);
    assertThat(now.totalAllocated()).isEqualTo(bytes);
    assertThat(now.activeBuffers()).isEqualTo(buffers);
    assertThat(now.totalBytesAllocated() - now.totalBytesFreed()).isEqualTo(bytes);
    Map<String, Long> byTag = memory.bytesByTag();
    assertThat(byTag.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(bytes);
    assertThat(memory.buffers()).hasSize((int) buffers);
    // Blocks for which there was no room are freed by the maintenance thread, in a moment.
    await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(
            () -> {
              MemoryStatistics pooled = memory.statistics();
              assertThat(pooled.totalPooled()).isEqualTo(sum(memory, PoolStatistics::idleBytes));
              assertThat(pooled.reservedBytes())
                  .isEqualTo(sum(memory, pool -> pool.idleBytes() + pool.leasedBytes()))
                  .isEqualTo(sum(memory, PoolStatistics::reservedBytes));
            });
  }

  private static long sum(UnifiedMemoryManager memory, ToLongFunction<PoolStatistics> figure) {
    return memory.pools().stream().mapToLong(figure).sum();
  }

  private static long classes(PoolStatistics pool, ToLongFunction<SizeClassStatistics> figure) {
    return pool.sizeClasses().stream().mapToLong(figure).sum();
  }
}
