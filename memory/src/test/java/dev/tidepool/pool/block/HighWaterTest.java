package dev.tidepool.pool.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a pool holds stays within 1.25 of the most that lived since the last trim. */
class HighWaterTest {
  private static final long KIB = 1 << 10;
  private static final long MIB = 1 << 20;
  private static final long GIB = 1 << 30;

  private final CountedBlock.Memory memory = new CountedBlock.Memory();
  private final MemoryPool pool =
      new MemoryPool(
          "test", memory, new PoolLimits(true, 8 * GIB, 8 * GIB, 0, EvictionPolicy.LRU, false));

  private List<Lease> acquire(int count, long bytes) {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      leases.add(pool.acquire(bytes, 1));
    }
    return leases;
  }

  /** Idle blocks of one phase do not serve the next; held together they were the sum of both. */
  @Test
  void whenSizesChangeWhatIsIdleGoesBackBeforeMoreIsAskedFor() {
    acquire(16, 4 * MIB).forEach(Lease::release);
    acquire(16, 6 * MIB).forEach(Lease::release);
    assertThat(pool.statistics().peakReserved()).isBetween(16 * 6 * MIB, 16 * 6 * MIB * 5 / 4);
  }

  @Test
  void aRefusedRequestDoesNotCount() {
    memory.capacity = MIB;
    assertThatThrownBy(() -> pool.acquire(GIB, 1)).isInstanceOf(OutOfDeviceMemoryException.class);
    memory.capacity = Long.MAX_VALUE;
    whenSizesChangeWhatIsIdleGoesBackBeforeMoreIsAskedFor();
  }

  @Test
  void slabsThatAreIdleGoBackToo() {
    memory.access = HostAccess.DIRECT;
    acquire(10_000, 4 * KIB).forEach(Lease::release);
    acquire(10_000, 6 * KIB).forEach(Lease::release);
    // Beside the last slab of each size.
    assertThat(pool.statistics().peakReserved()).isLessThan(10_000 * 10 * KIB);
    acquire(2, 64 * MIB).forEach(Lease::release);
    assertThat(pool.statistics().peakReserved()).isLessThanOrEqualTo(128 * MIB * 5 / 4);
  }

  @Test
  void onlySoMuchGoesBackAsIsTooMuch() {
    acquire(16, 4 * MIB).forEach(Lease::release);
    acquire(1, 16 * MIB);
    // A quarter more than the 64 MiB that lived.
    assertThat(memory.liveBytes).hasValue(80 * MIB);
    assertThat(pool.statistics()).returns(0L, PoolStatistics::evictions);
    acquire(1, 3 * MIB);
    assertThat(memory.liveBytes).hasValue(79 * MIB);
    assertThat(pool.statistics()).returns(1L, PoolStatistics::evictions);
  }

  /** Else a request would free what others return, for as long as they ask for more. */
  @Test
  void whatOthersAskForMeanwhileFreesNoMore() {
    acquire(16, 4 * MIB).forEach(Lease::release);
    memory.whenFreed = () -> pool.take(4 * MIB, 1, false);
    acquire(1, 32 * MIB);
    assertThat(pool.statistics()).returns(4L, PoolStatistics::evictions);
  }

  @Test
  void theLeastRecentlyUsedGoesFirst() {
    List<Lease> leases = acquire(8, 8 * MIB);
    List<Block> blocks = leases.stream().map(Lease::block).toList();
    leases.reversed().forEach(Lease::release);
    acquire(1, 18 * MIB);
    assertThat(blocks).last().matches(block -> ((CountedBlock) block).freed.get());
  }

  @Test
  void aSmallPoolKeepsWhatItHas() {
    acquire(1, 3 * MIB).forEach(Lease::release);
    acquire(1, 5 * MIB).forEach(Lease::release);
    assertThat(memory.liveBytes).hasValue(8 * MIB);
    acquire(1, 8 * MIB);
    assertThat(memory.liveBytes).hasValue(8 * MIB);
  }

  /** A block that was leased before is charged while it is leased again, but it is not idle. */
  @Test
  void whatIsLeasedAgainLives() {
    acquire(16, 4 * MIB).forEach(Lease::release);
    List<Lease> again = acquire(15, 4 * MIB);
    // Gives the sixteenth back. 60 MiB live, all of them charged.
    pool.trim();
    acquire(1, 3 * MIB).forEach(Lease::release);
    acquire(1, 6 * MIB);
    assertThat(memory.liveBytes).hasValue(69 * MIB);
    assertThat(again).hasSize(15);
  }

  @Test
  void afterATrimWhatLivedBeforeCountsNoMore() {
    acquire(16, 4 * MIB).forEach(Lease::release);
    pool.trim();
    acquire(4, 4 * MIB).forEach(Lease::release);
    acquire(2, 6 * MIB);
    // 28 MiB where 16 lived, and 20 may be held.
    assertThat(memory.liveBytes).hasValue(20 * MIB);
  }

  @Test
  void afterATrimOfWhatWasLongIdleWhatLivedBeforeCountsNoMore() {
    acquire(16, 4 * MIB).forEach(Lease::release);
    assertThat(pool.trimIdleSince(System.nanoTime())).isZero();
    assertThat(pool.trimIdleSince(System.nanoTime())).isEqualTo(64 * MIB);
    acquire(4, 4 * MIB).forEach(Lease::release);
    acquire(2, 6 * MIB);
    assertThat(memory.liveBytes).hasValue(20 * MIB);
  }

  @Test
  void aRequestIsServedByAnIdleBlockThatIsAnEighthLargerAtMost() {
    Lease large = pool.acquire(9 * MIB / 4, 1);
    Block block = large.block();
    large.release();
    assertThat(pool.acquire(2 * MIB - 1, 1).block()).isNotSameAs(block);
    Lease smaller = pool.acquire(2 * MIB, 1);
    assertThat(smaller.block()).isSameAs(block);
    smaller.release();
    assertThat(pool.acquire(9 * MIB / 4, 1).block()).isSameAs(block);
    assertThat(pool.statistics()).returns(2L, PoolStatistics::hits);
  }

  /** Else each of them would cost a call of the driver each time. */
  @Test
  void whoAsksForSizesInTurnsHasThemAllKept() {
    // Together they are more than a quarter above each of them.
    List<Long> sizes = List.of(60 * MIB, 80 * MIB, 96 * MIB);
    turns(sizes, 500);
    long allocations = pool.statistics().driverAllocations();
    turns(sizes, 500);
    assertThat(pool.statistics()).returns(allocations, PoolStatistics::driverAllocations);
    assertThat(pool.statistics().idleBytes()).isEqualTo(236 * MIB);
  }

  private void turns(List<Long> sizes, int count) {
    for (int i = 0; i < count; i++) {
      sizes.forEach(bytes -> pool.acquire(bytes, 1).release());
    }
  }
}
