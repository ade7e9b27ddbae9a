package dev.tidepool.pool.block;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What throws because the heap is full loses no block of the driver. */
class FullHeapTest {
  private static final long SMALL = 4 << 10;
  private static final long LARGE = 1 << 20;

  private final CountedBlock.Memory memory = new CountedBlock.Memory();

  /** Calls of blocks until one finds the heap full; none does after that. */
  private int callsBefore = Integer.MAX_VALUE;

  private boolean isFull() {
    callsBefore--;
    return callsBefore == 0;
  }

  /** A block whose calls find the heap full, as what is made beside them may. */
  private record OnFullHeap(Block block, BooleanSupplier full) implements Block {
    private void makeSomething() {
      if (full.getAsBoolean()) {
        throw new OutOfMemoryError("on purpose");
      }
    }

    @Override
    public long byteSize() {
      return block.byteSize();
    }

    @Override
    public HostAccess hostAccess() {
      makeSomething();
      return block.hostAccess();
    }

    @Override
    public @Nullable MemorySegment segment() {
      makeSomething();
      return block.segment();
    }

    @Override
    public void free() {
      block.free();
      makeSomething();
    }
  }

  private MemoryPool pool(long cap) {
    memory.access = HostAccess.DIRECT;
    return new MemoryPool(
        "test",
        (bytes, alignment) -> new OnFullHeap(memory.allocate(bytes, alignment), this::isFull),
        new PoolLimits(true, cap, cap, 0, EvictionPolicy.LRU, false));
  }

  /** At each of the calls by which a block is looked at and cut, until there is none any more. */
  @Test
  void aBlockThatCannotBeEnteredGoesBackAndThePoolGoesOn() {
    int failures = 0;
    boolean failed = true;
    for (int calls = 1; failed; calls++) {
      MemoryPool pool = pool(1 << 30);
      callsBefore = calls;
      failed = false;
      List<Lease> leases = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        long before = memory.live.get();
        try {
          leases.add(pool.acquire(SMALL, 1));
        } catch (OutOfMemoryError e) {
          failed = true;
          failures++;
          assertThat(memory.live).hasValue(before);
        }
      }
      callsBefore = Integer.MAX_VALUE;
      leases.add(pool.acquire(SMALL, 1));
      assertThat(pool.statistics())
          .returns((long) leases.size(), PoolStatistics::leasedBlocks)
          .returns(memory.liveBytes.get(), PoolStatistics::reservedBytes);
      leases.forEach(Lease::release);
      pool.close();
      assertThat(memory.live).hasValue(0);
    }
    assertThat(failures).isGreaterThan(3);
  }

  /** Blocks that found no room when they came back wait to be freed, one after another. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void blocksBehindOneThatCouldNotBeFreedAreFreed(int which) {
    MemoryPool pool = pool(0);
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      leases.add(pool.acquire(LARGE, 1));
    }
    leases.forEach(Lease::release);
    assertThat(memory.live).hasValue(3);
    callsBefore = which;
    pool.drain();
    assertThat(memory.live).hasValue(0);
    assertThat(pool.statistics())
        .returns(0L, PoolStatistics::reservedBytes)
        .returns(1L, PoolStatistics::failedFrees);
  }
}
