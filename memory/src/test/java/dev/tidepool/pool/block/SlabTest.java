package dev.tidepool.pool.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.Arena;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Small blocks are cut from few large ones. */
class SlabTest {
  private static final long KIB = 1 << 10;
  private static final long MIB = 1 << 20;
  private static final long GIB = 1 << 30;

  private final CountedBlock.Memory memory = new CountedBlock.Memory();

  @BeforeEach
  void blocksCanBeCut() {
    memory.access = HostAccess.DIRECT;
  }

  private MemoryPool pool(long cap, long kept) {
    return new MemoryPool(
        "test", memory, new PoolLimits(true, cap, cap, kept, EvictionPolicy.LRU, false));
  }

  private static List<Lease> acquire(MemoryPool pool, int count, long bytes) {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      leases.add(pool.acquire(bytes, 1));
    }
    return leases;
  }

  @Test
  void aHundredThousandSmallBuffersCostAHandfulOfDriverCalls() {
    MemoryPool pool = pool(4 * GIB, 0);
    List<Lease> leases = acquire(pool, 100_000, 4 * KIB);
    assertThat(memory.allocations).hasValueLessThan(30);
    assertThat(memory.liveBytes.get()).isBetween(100_000 * 4 * KIB, 100_000 * 4 * KIB * 11 / 10);
    leases.forEach(Lease::release);
    assertThat(pool.statistics())
        .returns(0L, PoolStatistics::leasedBytes)
        .returns(memory.liveBytes.get(), PoolStatistics::idleBytes);
    acquire(pool, 100_000, 4 * KIB);
    assertThat(memory.allocations).hasValueLessThan(30);
  }

  @Test
  void slabsKeepTheCapOfTheirClass() {
    long cap = 64 * KIB;
    MemoryPool pool =
        new MemoryPool(
            "test", memory, new PoolLimits(true, 4 * GIB, cap, 0, EvictionPolicy.LRU, false));
    pool.acquire(1 * KIB, 1).release();
    assertThat(pool.idleBytes()).isLessThanOrEqualTo(cap);
    acquire(pool, 1000, 1 * KIB).forEach(Lease::release);
    pool.drain();
    assertThat(pool.idleBytes()).isLessThanOrEqualTo(cap);
  }

  @Test
  void partsOfASlabDoNotOverlap() {
    MemoryPool pool = pool(4 * GIB, 0);
    Set<List<Object>> places = new HashSet<>();
    for (long bytes : new long[] {1 * KIB, 3 * KIB, 20 * KIB, 63 * KIB}) {
      for (Lease lease : acquire(pool, 100, bytes)) {
        Block block = lease.block();
        assertThat(block.byteSize()).isGreaterThanOrEqualTo(bytes);
        assertThat(block.start() % block.byteSize()).isZero();
        assertThat(block.start() + block.byteSize()).isLessThanOrEqualTo(block.whole().byteSize());
        assertThat(places.add(List.of(System.identityHashCode(block.whole()), block.start())))
            .isTrue();
      }
    }
  }

  @Test
  void thePartsSegmentIsItsRangeOfTheWhole() {
    try (Arena arena = Arena.ofShared()) {
      memory.arena = arena;
      for (Lease lease : acquire(pool(GIB, 0), 20, 4 * KIB)) {
        Block block = lease.block();
        assertThat(block.segment().byteSize()).isEqualTo(block.byteSize());
        assertThat(block.segment().address())
            .isEqualTo(block.whole().segment().address() + block.start());
      }
    }
  }

  @Test
  void aSlabGoesBackOnceAllItsPartsAreIdle() {
    MemoryPool pool = pool(GIB, 0);
    List<Lease> leases = acquire(pool, 1000, 4 * KIB);
    long all = memory.liveBytes.get();
    Lease last = leases.removeLast();
    leases.forEach(Lease::release);
    long trimmed = pool.trim();
    assertThat(trimmed).isPositive().isLessThan(all);
    assertThat(memory.liveBytes).hasValue(all - trimmed);
    memory.hold(last.block());
    memory.letGo(last.block());
    last.release();
    pool.trim();
    assertThat(memory.live).hasValue(0);
  }

  @Test
  void slabsAreSmallAgainAfterThoseOfTheirClassWentBack() {
    MemoryPool pool = pool(4 * GIB, 0);
    acquire(pool, 100_000, 4 * KIB).forEach(Lease::release);
    pool.trim();
    assertThat(memory.live).hasValue(0);
    // A slab of another class ends the growth from one slab to the next.
    pool.acquire(1 * KIB, 1);
    long before = memory.liveBytes.get();
    pool.acquire(4 * KIB, 1);
    assertThat(memory.liveBytes.get() - before).isEqualTo(64 * KIB);
  }

  private static List<WeakReference<Block>> released(MemoryPool pool) {
    List<WeakReference<Block>> parts = new ArrayList<>();
    for (Lease lease : acquire(pool, 200, 4 * KIB)) {
      parts.add(new WeakReference<>(lease.block()));
      lease.release();
    }
    return parts;
  }

  @Test
  void nothingOfASlabThatWentBackStaysInTheHeap() {
    MemoryPool pool = pool(GIB, 0);
    List<WeakReference<Block>> parts = released(pool);
    pool.trim();
    assertThat(memory.live).hasValue(0);
    await()
        .until(
            () -> {
              System.gc();
              return parts.stream().allMatch(part -> part.refersTo(null));
            });
  }

  @Test
  void aDiscardedPartIsNeverLeasedAgainAndGoesWithItsSlab() {
    MemoryPool pool = pool(GIB, 0);
    acquire(pool, 1, 4 * KIB).forEach(Lease::release);
    List<Lease> leases = acquire(pool, 100, 4 * KIB);
    Block discarded = leases.get(50).block();
    leases.get(50).discard();
    leases.forEach(Lease::release);
    assertThat(acquire(pool, 200, 4 * KIB).stream().map(Lease::block)).doesNotContain(discarded);
    pool = pool(GIB, 0);
    acquire(pool, 1, 4 * KIB).forEach(Lease::release);
    leases = acquire(pool, 100, 4 * KIB);
    leases.forEach(Lease::discard);
    long before = memory.live.get();
    pool.trim();
    assertThat(memory.live.get()).isLessThan(before);
  }

  @Test
  void blocksThatHostAndDeviceTakeInTurnAreNotCut() {
    memory.access = HostAccess.MAPPED;
    acquire(pool(GIB, 0), 100, 4 * KIB);
    assertThat(memory.allocations).hasValue(100);
  }

  /** As page-locked memory is, when it runs out and the device's own takes its place. */
  @Test
  void aSourceThatTurnsToBlocksThatCannotBeCutIsNotCutAnyMore() {
    MemoryPool pool = pool(GIB, 0);
    acquire(pool, 1, 4 * KIB);
    memory.access = HostAccess.MAPPED;
    for (Lease lease : acquire(pool, 100, 4 * KIB)) {
      assertThat(lease.block().whole()).isSameAs(lease.block());
    }
  }

  @Test
  void whereASlabHasNoRoomABlockOfItsOwnMayHave() {
    MemoryPool pool = pool(GIB, 0);
    acquire(pool, 1, 4 * KIB);
    memory.capacity = memory.liveBytes.get() + 5 * KIB;
    assertThat(pool.acquire(4 * KIB, 1).block().byteSize()).isEqualTo(4 * KIB);
    assertThat(memory.live).hasValue(2);
  }

  @Test
  void overTheCapIdleSlabsGoAndTheRestFollowsWhenItsSlabIsIdle() {
    MemoryPool pool = pool(MIB, 0);
    List<Lease> leases = acquire(pool, 5000, 4 * KIB);
    leases.forEach(Lease::release);
    pool.drain();
    assertThat(pool.idleBytes()).isLessThanOrEqualTo(MIB);
    assertThat(memory.liveBytes.get()).isEqualTo(pool.idleBytes());
    assertThat(pool.statistics().evictions())
        .isPositive()
        .isEqualTo(memory.allocations.get() - memory.live.get());
  }

  @Test
  void partsOfASlabThatWaitsToGoBackAreNobodys() {
    MemoryPool pool = pool(MIB, 0);
    acquire(pool, 5000, 4 * KIB).forEach(Lease::release);
    // The driver has not been asked to take any of it back yet.
    assertThat(memory.liveBytes.get()).isGreaterThan(pool.idleBytes());
    assertThat(pool.statistics())
        .returns(0L, PoolStatistics::leasedBlocks)
        .returns(0L, PoolStatistics::leasedBytes);
    List<PooledBlock> taken = new ArrayList<>();
    pool.forEachTaken(taken::add);
    assertThat(taken).isEmpty();
    pool.drain();
    assertThat(pool.statistics().hits() + pool.statistics().misses()).isEqualTo(5000);
    assertThat(memory.liveBytes.get()).isEqualTo(pool.idleBytes());
  }
}
