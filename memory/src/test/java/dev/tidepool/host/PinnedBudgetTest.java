package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.spi.Block;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PinnedBudgetTest {
  private static final long PAGE = HostPlatform.probe().pageBytes();

  private final MemoryAllocator allocator = new MemoryAllocator();

  @Test
  void lockedPagesCountAgainstTheBudgetUntilTheBlockIsFreed() {
    assumeTrue(HostPlatform.probe().pageLocking(), "the system locks no pages");
    PinnedBudget budget = new PinnedBudget(3 * PAGE);
    Block block = allocator.tryAllocateLocked(HostRequest.of(PAGE + 1), budget).orElseThrow();
    assertThat(block.byteSize()).isEqualTo(PAGE + 1);
    assertThat(budget.usedBytes()).isEqualTo(2 * PAGE);
    MemoryAllocatorTest.writePattern(block.segment(), 1);
    MemoryAllocatorTest.assertPattern(block.segment(), 1);
    assertThat(allocator.tryAllocateLocked(HostRequest.of(PAGE + 1), budget)).isEmpty();
    Block last = allocator.tryAllocateLocked(HostRequest.of(PAGE), budget).orElseThrow();
    assertThat(budget.usedBytes()).isEqualTo(3 * PAGE);
    block.free();
    last.free();
    assertThat(budget.usedBytes()).isZero();
  }

  @Test
  void threadsNeverReserveMoreThanTheBudget() throws Exception {
    PinnedBudget budget = new PinnedBudget(10);
    AtomicLong held = new AtomicLong();
    AtomicLong most = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    for (int i = 0; i < 20_000; i++) {
                      if (budget.reserve(3)) {
                        most.accumulateAndGet(held.addAndGet(3), Math::max);
                        held.addAndGet(-3);
                        budget.giveBack(3);
                      }
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(most.get()).isBetween(3L, 9L);
    assertThat(budget.usedBytes()).isZero();
  }
}
