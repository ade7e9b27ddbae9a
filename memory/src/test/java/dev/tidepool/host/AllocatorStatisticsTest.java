package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class AllocatorStatisticsTest {
  private static final long MIB = 1 << 20;

  private final MemoryAllocator allocator = new MemoryAllocator();

  @Test
  void blocksCountByWhatTheyGot() {
    assumeTrue(HostPlatform.probe().numaPolicies(), "SKIPPED: no NUMA policies here");
    HostBlock heap = allocator.allocate(1000);
    HostBlock small = allocator.allocate(HostRequest.of(3 * MIB).on(PageKind.SMALL));
    HostBlock placed =
        allocator.allocate(HostRequest.of(MIB).from(NumaPolicy.bind(0)).on(PageKind.SMALL));
    AllocatorStatistics now = allocator.statistics();
    long all = 1000 + 4 * MIB;
    assertThat(now.allocated()).isEqualTo(new UsageCounter(3, all, all, 3));
    assertThat(now.pages()).containsEntry(PageKind.SMALL, new UsageCounter(3, all, all, 3));
    assertThat(now.pages()).containsEntry(PageKind.EXPLICIT_HUGE, new UsageCounter(0, 0, 0, 0));
    assertThat(now.nodes()).containsOnlyKeys(0);
    assertThat(now.nodes()).containsEntry(0, new UsageCounter(1, MIB, MIB, 1));
    heap.free();
    small.free();
    placed.free();
    assertThat(allocator.statistics().allocated()).isEqualTo(new UsageCounter(0, 0, all, 3));
    assertThat(allocator.statistics().nodes()).containsEntry(0, new UsageCounter(0, 0, MIB, 1));
  }

  @Test
  void figuresOfManyThreadsAddUp() throws Exception {
    long seed = Long.getLong("tidepool.test.seed", System.nanoTime());
    System.out.println("AllocatorStatisticsTest seed " + seed);
    PinnedBudget budget = new PinnedBudget(2 * MIB);
    List<Thread> threads = new ArrayList<>();
    List<Throwable> failures = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      SplittableRandom random = new SplittableRandom(seed + t);
      threads.add(
          Thread.ofPlatform()
              .uncaughtExceptionHandler(
                  (_, e) -> {
                    synchronized (failures) {
                      failures.add(e);
                    }
                  })
              .start(() -> allocateAtRandom(random, budget)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failures).isEmpty();
    AllocatorStatistics end = allocator.statistics();
    assertThat(end.allocated().blocks()).isZero();
    assertThat(end.allocated().bytes()).isZero();
    assertThat(end.allocated().totalBlocks()).isEqualTo(8 * 200);
    assertThat(end.allocated().peakBytes()).isPositive();
    assertThat(end.pages().values()).allSatisfy(usage -> assertThat(usage.bytes()).isZero());
    assertThat(end.pages().values().stream().mapToLong(UsageCounter::totalBlocks).sum())
        .isEqualTo(end.allocated().totalBlocks());
    assertThat(end.locked().bytes()).isZero();
    assertThat(end.locked().peakBytes()).isLessThanOrEqualTo(2 * MIB);
    assertThat(budget.usedBytes()).isZero();
  }

  private void allocateAtRandom(SplittableRandom random, PinnedBudget budget) {
    List<HostBlock> live = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      HostRequest request =
          HostRequest.of(1L << random.nextInt(24)).aligned(1L << random.nextInt(22));
      HostBlock block =
          random.nextInt(4) == 0
              ? allocator.allocateLocked(request, budget)
              : allocator.allocate(request);
      assertThat(block.segment().address() % request.alignment()).isZero();
      block.segment().asSlice(request.bytes() - 1).fill((byte) 1);
      live.add(block);
      if (live.size() > 4) {
        live.remove(random.nextInt(live.size())).free();
      }
    }
    live.forEach(HostBlock::free);
  }
}
