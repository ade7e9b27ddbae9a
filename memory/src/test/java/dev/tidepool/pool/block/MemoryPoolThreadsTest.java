package dev.tidepool.pool.block;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.pool.Threads;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.HostAccess;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class MemoryPoolThreadsTest {
  private static final int THREADS = 8;
  private static final int STEPS = 20_000;
  private static final long MIB = 1 << 20;

  // Held, or its level would be forgotten.
  private static final Logger QUIET = Logger.getLogger(MemoryPool.class.getName());

  private final CountedBlock.Memory memory = new CountedBlock.Memory();

  @AfterEach
  void log() {
    QUIET.setLevel(null);
  }

  /** The caps from tight to never reached: evictions, credits and hits mix differently. */
  @ParameterizedTest
  @CsvSource({
    "65536, MAPPED", "1048576, MAPPED", "1073741824, MAPPED",
    "65536, DIRECT", "1048576, DIRECT", "1073741824, DIRECT"
  })
  void aBlockNeverHasTwoLeasesAndNoneIsLost(long cap, HostAccess access) throws Exception {
    boolean cut = access == HostAccess.DIRECT;
    memory.access = access;
    MemoryPool pool =
        new MemoryPool(
            "test", memory, new PoolLimits(true, cap, cap / 2, 0, EvictionPolicy.LRU, false));
    Queue<Lease> handedOver = new ConcurrentLinkedQueue<>();
    AtomicLong acquired = new AtomicLong();
    AtomicLong repeated = new AtomicLong();
    Threads.run(
        THREADS,
        (thread, random) -> {
          ArrayDeque<Lease> held = new ArrayDeque<>();
          for (int step = 0; step < STEPS; step++) {
            int choice = random.nextInt(100);
            if (choice < 50) {
              Lease lease = pool.acquire(random.nextLong(1, 20_000), 1);
              memory.hold(lease.block());
              acquired.incrementAndGet();
              held.add(lease);
            } else if (choice < 85) {
              Lease lease = held.poll();
              if (lease != null) {
                memory.letGo(lease.block());
                lease.release();
                if (choice < 55) {
                  lease.release();
                  repeated.incrementAndGet();
                }
              }
            } else if (choice < 93) {
              Lease lease = held.poll();
              if (lease != null) {
                handedOver.add(lease);
              }
            } else if (choice < 98) {
              Lease lease = handedOver.poll();
              if (lease != null) {
                held.add(lease);
              }
            } else if (step % 64 == 0) {
              pool.trim();
            } else if (step % 64 == 1) {
              pool.trimIdleSince(System.nanoTime());
            } else {
              Lease lease = held.poll();
              if (lease != null) {
                memory.letGo(lease.block());
                lease.discard();
              }
            }
          }
          handedOver.addAll(held);
        });
    long heldBytes = handedOver.stream().mapToLong(lease -> lease.block().byteSize()).sum();
    pool.drain();
    PoolStatistics busy = pool.statistics();
    assertThat(busy.leasedBlocks()).isEqualTo(handedOver.size());
    assertThat(busy.leasedBytes()).isEqualTo(heldBytes);
    if (!cut) {
      // Parts that were discarded are neither idle nor leased until their slab goes.
      assertThat(busy.idleBytes()).isEqualTo(memory.liveBytes.get() - heldBytes);
      assertThat(busy.idleBytes()).isLessThanOrEqualTo(cap);
    }
    assertThat(busy.hits() + busy.misses()).isEqualTo(acquired.get());
    assertThat(busy.misses()).isEqualTo(memory.allocations.get());
    assertThat(busy.repeatedReleases()).isEqualTo(repeated.get());
    for (Lease lease : handedOver) {
      memory.letGo(lease.block());
      lease.release();
    }
    pool.close();
    assertThat(memory.live).hasValue(0);
    assertThat(memory.liveBytes).hasValue(0);
    assertThat(pool.statistics())
        .returns(0L, PoolStatistics::leasedBytes)
        .returns(0L, PoolStatistics::idleBytes)
        .returns(memory.allocations.get(), PoolStatistics::driverFrees);
  }

  /** A source that is too small for all, and that often fails to take blocks back. */
  @ParameterizedTest
  @EnumSource(names = {"MAPPED", "DIRECT"})
  void refusalsOfTheSourceLeaveNothingBehindAndTheFiguresAddUp(HostAccess access) throws Exception {
    QUIET.setLevel(Level.OFF);
    memory.access = access;
    memory.capacity = MIB;
    MemoryPool pool =
        new MemoryPool(
            "test", memory, new PoolLimits(true, MIB / 2, MIB / 2, 0, EvictionPolicy.LRU, false));
    AtomicLong asked = new AtomicLong();
    AtomicLong refused = new AtomicLong();
    Threads.run(
        THREADS,
        (thread, random) -> {
          ArrayDeque<Lease> held = new ArrayDeque<>();
          for (int step = 0; step < STEPS / 4; step++) {
            memory.refusesFrees = random.nextInt(3) == 0;
            if (random.nextBoolean()) {
              asked.incrementAndGet();
              try {
                Lease lease = pool.acquire(random.nextLong(1, 200_000), 1);
                memory.hold(lease.block());
                held.add(lease);
              } catch (OutOfDeviceMemoryException e) {
                refused.incrementAndGet();
                letGo(held);
                pool.trim();
              }
            } else if (!held.isEmpty()) {
              letGo(held.poll());
            }
          }
          letGo(held);
        });
    pool.close();
    assertThat(refused.get()).isPositive();
    assertThat(memory.live).hasValue(0);
    assertThat(memory.liveBytes).hasValue(0);
    PoolStatistics after = pool.statistics();
    assertThat(after)
        .returns(0L, PoolStatistics::leasedBlocks)
        .returns(0L, PoolStatistics::leasedBytes)
        .returns(0L, PoolStatistics::idleBlocks)
        .returns(0L, PoolStatistics::idleBytes)
        .returns(0L, PoolStatistics::reservedBytes)
        .returns(memory.allocations.get(), PoolStatistics::driverAllocations)
        .returns(memory.allocations.get(), PoolStatistics::driverFrees);
    assertThat(after.failedFrees()).isBetween(1L, after.driverFrees());
    assertThat(after.hits() + after.misses()).isEqualTo(asked.get());
  }

  private void letGo(Collection<Lease> held) {
    held.forEach(this::letGo);
    held.clear();
  }

  private void letGo(Lease lease) {
    memory.letGo(lease.block());
    lease.release();
  }

  @Test
  void theCapHoldsAtEveryMoment() throws Exception {
    long cap = 256 << 10;
    MemoryPool pool =
        new MemoryPool(
            "test", memory, new PoolLimits(true, cap, cap, 0, EvictionPolicy.LRU, false));
    AtomicLong leased = new AtomicLong();
    AtomicLong mostIdle = new AtomicLong();
    Threads.run(
        THREADS,
        (thread, random) -> {
          for (int step = 0; step < STEPS / 4; step++) {
            leased.addAndGet(32 << 10);
            Lease a = pool.acquire(8 << 10, 1);
            Lease b = pool.acquire(16 << 10, 1);
            a.release();
            b.release();
            leased.addAndGet(-(32 << 10));
            // What is allocated is idle, leased, or on its way: at most 32 KiB for each thread.
            mostIdle.accumulateAndGet(memory.liveBytes.get(), Math::max);
          }
        });
    assertThat(mostIdle.get()).isLessThanOrEqualTo(cap + THREADS * (32 << 10));
    assertThat(leased).hasValue(0);
    pool.drain();
    assertThat(pool.idleBytes()).isEqualTo(memory.liveBytes.get()).isLessThanOrEqualTo(cap);
  }

  @Test
  void aDoubleReleaseByTwoThreadsIsOneRelease() throws Exception {
    MemoryPool pool =
        new MemoryPool(
            "test", memory, new PoolLimits(true, MIB, MIB, 0, EvictionPolicy.LRU, false));
    for (int round = 0; round < 2_000; round++) {
      Lease lease = pool.acquire(1024, 1);
      CountDownLatch start = new CountDownLatch(1);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        threads.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      try {
                        start.await();
                      } catch (InterruptedException e) {
                        throw new AssertionError(e);
                      }
                      lease.release();
                    }));
      }
      start.countDown();
      for (Thread thread : threads) {
        thread.join();
      }
    }
    assertThat(pool.statistics())
        .returns(1L, PoolStatistics::idleBlocks)
        .returns(2_000L, PoolStatistics::repeatedReleases)
        .returns(1_999L, PoolStatistics::hits);
  }

  @Test
  void nothingIsLostWhenThePoolClosesUnderItsUsers() throws Exception {
    for (int round = 0; round < 50; round++) {
      MemoryPool pool =
          new MemoryPool(
              "test", memory, new PoolLimits(true, MIB, MIB, 0, EvictionPolicy.LRU, false));
      AtomicBoolean closed = new AtomicBoolean();
      Threads.run(
          THREADS,
          (thread, random) -> {
            if (thread == 0) {
              Thread.yield();
              pool.close();
              closed.set(true);
              return;
            }
            try {
              while (!closed.get()) {
                pool.acquire(random.nextLong(1, 5000), 1).release();
              }
            } catch (IllegalStateException e) {
              assertThat(e).hasMessageContaining("closed");
            }
          });
      assertThat(memory.live).hasValue(0);
    }
  }
}
