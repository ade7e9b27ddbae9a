package dev.tidepool.pool.block;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.Block;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MemoryPoolTest {
  private static final long KIB = 1 << 10;
  private static final long MIB = 1 << 20;
  private static final long GIB = 1 << 30;

  private final CountedBlock.Memory memory = new CountedBlock.Memory();

  private MemoryPool pool(long maxBytes, long maxBytesPerClass, long keptBytes) {
    return new MemoryPool(
        "test",
        memory,
        new PoolLimits(true, maxBytes, maxBytesPerClass, keptBytes, EvictionPolicy.LRU, false));
  }

  private MemoryPool roomyPool() {
    return pool(8 * GIB, 8 * GIB, 0);
  }

  private static List<Lease> acquire(MemoryPool pool, int count, long bytes) {
    return IntStream.range(0, count).mapToObj(i -> pool.acquire(bytes, 1)).toList();
  }

  @Test
  void aBlockThatCameBackIsLeasedAgain() {
    MemoryPool pool = roomyPool();
    Lease first = pool.acquire(5000, 64);
    Block block = first.block();
    assertThat(block.byteSize()).isBetween(5000L, 5000L * 9 / 8);
    first.release();
    Lease second = pool.acquire(5100, 64);
    assertThat(second.block()).isSameAs(block);
    assertThat(pool.statistics())
        .returns(1L, PoolStatistics::hits)
        .returns(1L, PoolStatistics::misses)
        .returns(0.5, PoolStatistics::hitRate)
        .returns(1L, PoolStatistics::leasedBlocks)
        .returns(block.byteSize(), PoolStatistics::leasedBytes)
        .returns(0L, PoolStatistics::idleBytes);
    second.release();
    assertThat(pool.statistics())
        .returns(0L, PoolStatistics::leasedBlocks)
        .returns(1L, PoolStatistics::idleBlocks)
        .returns(block.byteSize(), PoolStatistics::idleBytes);
  }

  @Test
  void aRequestIsServedFromItsOwnClassOnly() {
    MemoryPool pool = roomyPool();
    pool.acquire(MIB, 1).release();
    Lease small = pool.acquire(KIB, 1);
    assertThat(small.block().byteSize()).isEqualTo(KIB);
    assertThat(pool.statistics().misses()).isEqualTo(2);
  }

  @Test
  void aBlockWhoseClassExceedsTheSourcesLargestHasTheSizeThatWasAskedFor() {
    MemoryPool pool =
        new MemoryPool(
            "test",
            memory,
            17 * MIB - 1,
            new PoolLimits(true, 4 * GIB, 4 * GIB, 0, EvictionPolicy.LRU, false));
    assertThat(pool.acquire(16 * MIB, 1).block().byteSize()).isEqualTo(16 * MIB);
    assertThat(pool.acquire(17 * MIB - 2, 1).block().byteSize()).isEqualTo(17 * MIB - 2);
  }

  @Test
  void aLeaseThatIsGivenBackTwiceIsCountedAndChangesNothing() {
    MemoryPool pool = roomyPool();
    Lease lease = pool.acquire(KIB, 1);
    lease.release();
    lease.release();
    lease.discard();
    assertThat(pool.statistics())
        .returns(2L, PoolStatistics::repeatedReleases)
        .returns(1L, PoolStatistics::idleBlocks);
    Lease a = pool.acquire(KIB, 1);
    Lease b = pool.acquire(KIB, 1);
    assertThat(a.block()).isNotSameAs(b.block());
    lease.release();
    assertThat(a.block()).isNotSameAs(pool.acquire(KIB, 1).block());
    assertThatIllegalStateException()
        .isThrownBy(lease::block)
        .withMessageContaining("test has ended");
  }

  @Test
  void aDiscardedBlockIsFreedAndNeverLeasedAgain() {
    MemoryPool pool = roomyPool();
    Lease lease = pool.acquire(KIB, 1);
    CountedBlock block = (CountedBlock) lease.block();
    lease.discard();
    assertThat(block.freed).isTrue();
    assertThat(pool.acquire(KIB, 1).block()).isNotSameAs(block);
    lease.release();
    assertThat(pool.statistics().repeatedReleases()).isEqualTo(1);
  }

  @Test
  void anIdleBlockIsFoundWhicheverThreadGaveItBack() throws Exception {
    MemoryPool pool = roomyPool();
    List<Thread> threads = new ArrayList<>();
    List<Lease> leases = acquire(pool, 100, KIB);
    for (Lease lease : leases) {
      threads.add(Thread.ofVirtual().start(lease::release));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(pool.statistics().idleBlocks()).isEqualTo(100);
    acquire(pool, 100, KIB);
    assertThat(memory.allocations.get()).isEqualTo(100);
    assertThat(pool.statistics().hits()).isEqualTo(100);
  }

  @Test
  void alignmentAboveThePoolsGetsABlockOfItsOwnThatIsNotKept() {
    MemoryPool pool = roomyPool();
    Lease lease = pool.acquire(5000, 4096);
    CountedBlock block = (CountedBlock) lease.block();
    assertThat(block.alignment).isEqualTo(4096);
    assertThat(block.byteSize()).isEqualTo(5000);
    lease.release();
    assertThat(block.freed).isTrue();
    CountedBlock plain = (CountedBlock) pool.acquire(5000, 1).block();
    assertThat(plain.alignment).isEqualTo(64);
  }

  @Test
  void withoutPoolingEachLeaseHasABlockOfItsOwn() {
    MemoryPool pool =
        new MemoryPool(
            "test", memory, new PoolLimits(false, GIB, GIB, 0, EvictionPolicy.LRU, false));
    Lease lease = pool.acquire(1000, 1);
    assertThat(lease.block().byteSize()).isEqualTo(1000);
    lease.release();
    assertThat(memory.live).hasValue(0);
    assertThat(pool.statistics())
        .returns(1L, PoolStatistics::misses)
        .returns(1L, PoolStatistics::driverFrees)
        .returns(1000L, PoolStatistics::peakReserved)
        .returns(0L, PoolStatistics::idleBytes);
  }

  @Test
  void aboveOneGibABlockHasExactlyTheSizeAskedForAndIsKept() {
    MemoryPool pool = roomyPool();
    acquire(pool, 2, 2 * GIB).forEach(Lease::release);
    Lease lease = pool.acquire(GIB + 1, 1);
    Block block = lease.block();
    assertThat(block.byteSize()).isEqualTo(GIB + 1);
    lease.release();
    assertThat(pool.acquire(GIB + 2, 1).block()).isNotSameAs(block);
    assertThat(pool.acquire(GIB + 1, 1).block()).isSameAs(block);
    assertThat(pool.statistics().hits()).isEqualTo(1);
  }

  @Test
  void aBlockThatIsSmallerThanAskedForGoesBack() {
    MemoryPool pool =
        new MemoryPool(
            "test",
            (bytes, alignment) -> memory.allocate(bytes / 2, alignment),
            new PoolLimits(true, GIB, GIB, 0, EvictionPolicy.LRU, false));
    assertThatThrownBy(() -> pool.acquire(MIB, 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(MIB / 2 + " bytes instead of " + MIB);
    assertThat(memory.live).hasValue(0);
    assertThat(pool.reservedBytes()).isZero();
  }

  @Test
  void sizesAreNotRoundedBeyondTheLargestBlockOfTheSource() {
    MemoryPool pool =
        new MemoryPool(
            "test",
            memory,
            991 * MIB,
            new PoolLimits(true, GIB, GIB, 0, EvictionPolicy.LRU, false));
    Lease lease = pool.acquire(990 * MIB, 1);
    assertThat(lease.block().byteSize()).isEqualTo(990 * MIB);
    Block block = lease.block();
    lease.release();
    assertThat(pool.acquire(990 * MIB, 1).block()).isSameAs(block);
  }

  @Test
  void overTheCapTheLeastRecentlyUsedBlocksAreFreed() {
    MemoryPool pool = pool(4 * MIB, GIB, 0);
    List<Lease> leases = acquire(pool, 6, MIB);
    List<CountedBlock> blocks = leases.stream().map(lease -> (CountedBlock) lease.block()).toList();
    leases.forEach(Lease::release);
    pool.drain();
    assertThat(blocks.stream().map(block -> block.freed.get()))
        .containsExactly(true, true, false, false, false, false);
    assertThat(pool.statistics())
        .returns(4 * MIB, PoolStatistics::idleBytes)
        .returns(2L, PoolStatistics::evictions);
  }

  /** One history, after which each policy lets another block go. */
  @ParameterizedTest
  @CsvSource({"LRU, 1", "LFU, 2", "FIFO, 01", "TIME_TO_LIVE, 01"})
  void overTheCapThePolicyNamesTheBlockThatGoes(EvictionPolicy policy, String victims) {
    MemoryPool pool =
        new MemoryPool("test", memory, new PoolLimits(true, 7 * MIB, GIB, 0, policy, false));
    List<CountedBlock> blocks = new ArrayList<>();
    List<Lease> leases = new ArrayList<>();
    for (long bytes : new long[] {MIB, 2 * MIB, 3 * MIB}) {
      leases.add(pool.acquire(bytes, 1));
      blocks.add((CountedBlock) leases.getLast().block());
    }
    leases.get(1).release();
    pool.acquire(2 * MIB, 1).release();
    leases.get(0).release();
    pool.acquire(MIB, 1).release();
    leases.get(2).release();
    pool.acquire(9 * MIB / 4, 1).release();
    pool.drain();
    assertThat(IntStream.range(0, 3).filter(i -> blocks.get(i).freed.get()))
        .containsExactlyElementsOf(victims.chars().mapToObj(c -> c - '0').toList());
  }

  @Test
  void aBlockThatIsLeasedAgainAndAgainIsNotTheLeastRecentlyUsed() {
    MemoryPool pool = pool(11 * MIB / 2, GIB, 0);
    List<Lease> leases = new ArrayList<>();
    for (long bytes : new long[] {MIB, 2 * MIB, MIB / 2, 3 * MIB}) {
      leases.add(pool.acquire(bytes, 1));
    }
    List<CountedBlock> blocks = leases.stream().map(lease -> (CountedBlock) lease.block()).toList();
    leases.subList(0, 3).forEach(Lease::release);
    pool.acquire(MIB, 1).release();
    leases.get(3).release();
    pool.drain();
    assertThat(blocks.stream().map(block -> block.freed.get()))
        .containsExactly(false, true, false, false);
  }

  @Test
  void withATimeToLiveTrimmingGoesByTheTimeOfAllocation() {
    MemoryPool pool =
        new MemoryPool(
            "test", memory, new PoolLimits(true, GIB, GIB, 0, EvictionPolicy.TIME_TO_LIVE, false));
    pool.acquire(MIB, 1).release();
    long before = System.nanoTime();
    pool.acquire(MIB, 1).release();
    pool.acquire(2 * MIB, 1).release();
    assertThat(pool.trimIdleSince(before)).isEqualTo(MIB);
    assertThat(pool.trimIdleSince(System.nanoTime())).isEqualTo(2 * MIB);
  }

  /**
   * The driver may be slow, or wait for the device: a thread that closes a buffer does not wait for
   * that.
   */
  @Test
  void givingBackNeverCallsTheDriverEvenWhenThePoolIsFull() {
    MemoryPool pool = pool(2 * MIB, GIB, 0);
    List<Lease> leases = acquire(pool, 5, MIB);
    leases.forEach(Lease::release);
    assertThat(memory.live).hasValue(5);
    assertThat(pool.statistics())
        .returns(2 * MIB, PoolStatistics::idleBytes)
        .returns(0L, PoolStatistics::leasedBytes)
        .returns(3L, PoolStatistics::evictions);
    // The next miss frees them before it asks for more.
    pool.acquire(4 * MIB, 1);
    assertThat(memory.liveBytes).hasValue(6 * MIB);
  }

  @Test
  void theCapOfAClassHoldsUnderTheCapOfThePool() {
    MemoryPool pool = pool(5 * MIB, 2 * MIB, 0);
    acquire(pool, 4, MIB).forEach(Lease::release);
    assertThat(pool.statistics().idleBytes()).isEqualTo(2 * MIB);
    acquire(pool, 4, 512 * KIB).forEach(Lease::release);
    assertThat(pool.statistics().idleBytes()).isEqualTo(4 * MIB);
    acquire(pool, 8, 256 * KIB).forEach(Lease::release);
    assertThat(pool.statistics().idleBytes()).isEqualTo(5 * MIB);
    pool.drain();
    assertThat(memory.liveBytes).hasValue(5 * MIB);
  }

  @Test
  void aBlockAboveACapIsNotKeptAndEvictsNothing() {
    MemoryPool pool = pool(8 * MIB, 2 * MIB, 0);
    acquire(pool, 2, MIB).forEach(Lease::release);
    pool.acquire(4 * MIB, 1).release();
    assertThat(pool.statistics())
        .returns(2L, PoolStatistics::idleBlocks)
        .returns(2 * MIB, PoolStatistics::idleBytes);
  }

  @Test
  void budgetThatLeasedBlocksLeftBehindIsUsedBeforeAnythingIsFreed() {
    MemoryPool pool = pool(2 * MIB, GIB, 0);
    acquire(pool, 2, MIB).forEach(Lease::release);
    List<Lease> held = acquire(pool, 2, MIB);
    acquire(pool, 4, 512 * KIB).forEach(Lease::release);
    assertThat(pool.statistics())
        .returns(2 * MIB, PoolStatistics::idleBytes)
        .returns(0L, PoolStatistics::evictions);
    held.forEach(Lease::release);
    assertThat(pool.statistics().idleBytes()).isEqualTo(2 * MIB);
  }

  @Test
  void trimmingFreesAllThatIsIdleAndNothingThatIsLeased() {
    MemoryPool pool = pool(GIB, GIB, 100 * MIB);
    Lease held = pool.acquire(MIB, 1);
    acquire(pool, 20, MIB).forEach(Lease::release);
    acquire(pool, 3, KIB).forEach(Lease::release);
    assertThat(pool.trim()).isEqualTo(20 * MIB + 3 * KIB);
    assertThat(memory.liveBytes).hasValue(MIB);
    assertThat(pool.trim()).isZero();
    held.release();
    assertThat(pool.statistics())
        .returns(MIB, PoolStatistics::idleBytes)
        .returns(1L, PoolStatistics::trims)
        .returns(20 * MIB + 3 * KIB, PoolStatistics::trimmedBytes);
  }

  @Test
  void maintenanceFreesWhatWasNotUsedSince() {
    MemoryPool pool = roomyPool();
    acquire(pool, 3, MIB).forEach(Lease::release);
    Lease used = pool.acquire(64 * KIB, 1);
    long start = System.nanoTime();
    used.release();
    assertThat(pool.trimIdleSince(start)).isZero();
    long seen = System.nanoTime();
    pool.acquire(64 * KIB, 1).release();
    assertThat(pool.trimIdleSince(seen)).isEqualTo(3 * MIB);
    assertThat(pool.statistics().idleBytes()).isEqualTo(64 * KIB);
    long seenAgain = System.nanoTime();
    assertThat(pool.trimIdleSince(seenAgain)).isEqualTo(64 * KIB);
  }

  @Test
  void maintenanceLeavesTheKeptBytesTheMostRecentlyUsed() {
    MemoryPool pool = pool(GIB, GIB, 4 * MIB);
    List<Lease> leases = acquire(pool, 10, MIB);
    List<CountedBlock> blocks = leases.stream().map(lease -> (CountedBlock) lease.block()).toList();
    leases.forEach(Lease::release);
    pool.trimIdleSince(System.nanoTime());
    assertThat(pool.trimIdleSince(System.nanoTime())).isEqualTo(6 * MIB);
    assertThat(blocks.stream().filter(block -> !block.freed.get()))
        .containsExactlyElementsOf(blocks.subList(6, 10));
    assertThat(pool.trimIdleSince(System.nanoTime())).isZero();
    assertThat(pool.trim()).isEqualTo(4 * MIB);
  }

  @Test
  void theSourcesRefusalReachesTheCallerAndATrimMakesRoom() {
    memory.capacity = 3 * MIB;
    MemoryPool pool = roomyPool();
    acquire(pool, 3, MIB).forEach(Lease::release);
    assertThatThrownBy(() -> pool.acquire(2 * MIB, 1))
        .isInstanceOf(OutOfDeviceMemoryException.class);
    pool.trim();
    pool.acquire(2 * MIB, 1).release();
    assertThat(pool.statistics())
        .returns(4L, PoolStatistics::driverAllocations)
        .returns(5L, PoolStatistics::misses)
        .returns(2 * MIB, PoolStatistics::idleBytes);
  }

  @Test
  void aBlockThatTheDriverRefusesToFreeCountsAsGoneAndNothingIsThrown() {
    MemoryPool pool = roomyPool();
    acquire(pool, 3, MIB).forEach(Lease::release);
    memory.refusesFrees = true;
    assertThat(pool.trim()).isEqualTo(3 * MIB);
    pool.acquire(MIB, 1).discard();
    assertThat(pool.statistics())
        .returns(4L, PoolStatistics::driverFrees)
        .returns(4L, PoolStatistics::failedFrees)
        .returns(0L, PoolStatistics::leasedBlocks)
        .returns(0L, PoolStatistics::leasedBytes);
  }

  @Test
  void blocksAreClearedBeforeTheyAreKeptIfAskedFor() {
    try (Arena arena = Arena.ofShared()) {
      memory.arena = arena;
      MemoryPool pool =
          new MemoryPool(
              "test", memory, new PoolLimits(true, GIB, GIB, 0, EvictionPolicy.LRU, true));
      for (long bytes : new long[] {100, 5000, 300_000}) {
        Lease lease = pool.acquire(bytes, 1);
        Block block = lease.block();
        block.segment().fill((byte) 7);
        lease.release();
        assertThat(pool.acquire(bytes, 1).block()).isSameAs(block);
        assertThat(block.segment().elements(JAVA_BYTE).allMatch(b -> b.get(JAVA_BYTE, 0) == 0))
            .isTrue();
      }
    }
  }

  @Test
  void aClosedPoolFreesWhatIsIdleAndWhatComesBackAndGivesNothing() {
    MemoryPool pool = roomyPool();
    Lease held = pool.acquire(MIB, 1);
    acquire(pool, 10, KIB).forEach(Lease::release);
    pool.close();
    pool.close();
    assertThat(memory.live).hasValue(1);
    held.release();
    assertThat(memory.live).hasValue(0);
    assertThatIllegalStateException()
        .isThrownBy(() -> pool.acquire(KIB, 1))
        .withMessageContaining("test is closed");
  }

  @Test
  void anyOrderOfReturnsKeepsTheAccounts() {
    MemoryPool pool = pool(10 * MIB, 6 * MIB, 0);
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      leases.add(pool.acquire(1 + i * 997L, 1));
    }
    Collections.shuffle(leases, new Random(3));
    leases.forEach(Lease::release);
    pool.drain();
    PoolStatistics after = pool.statistics();
    assertThat(after.idleBytes()).isEqualTo(memory.liveBytes.get()).isLessThanOrEqualTo(10 * MIB);
    assertThat(after.driverAllocations() - after.driverFrees()).isEqualTo(after.idleBlocks());
    assertThat(after.hits() + after.misses()).isEqualTo(300);
  }

  @Test
  void wrongArgumentsAreNamed() {
    MemoryPool pool = roomyPool();
    assertThatIllegalArgumentException().isThrownBy(() -> pool.acquire(0, 1));
    assertThatIllegalArgumentException().isThrownBy(() -> pool.acquire(1, 3));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new PoolLimits(true, -1, 0, 0, EvictionPolicy.LRU, false))
        .withMessageContaining("-1");
  }
}
