package dev.tidepool.runtime.supply;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PoolLimits;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A block leaves its pool before its memory goes, and its budget after that. */
class BudgetedBlockTest {
  private static final long BYTES = 1 << 20;

  private final MemoryLimit limit = new MemoryLimit(4 * BYTES, null);

  /** A block of a driver that tells when it gets it back. */
  private record Told(long byteSize, Runnable whenFreed) implements Block {
    @Override
    public HostAccess hostAccess() {
      return HostAccess.NONE;
    }

    @Override
    public MemorySegment segment() {
      return null;
    }

    @Override
    public void free() {
      whenFreed.run();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whoMayHaveItsBytesIsToldWhenTheDriverHasThem(boolean kept) {
    List<Long> usedAtTheFree = new ArrayList<>();
    List<Long> shownAtTheFree = new ArrayList<>();
    MemoryPool[] pool = new MemoryPool[1];
    pool[0] =
        new MemoryPool(
            "test",
            limit.over(
                (bytes, _) ->
                    new Told(
                        bytes,
                        () -> {
                          usedAtTheFree.add(limit.usedBytes());
                          pool[0].forEachBlock(block -> shownAtTheFree.add(block.bytes()));
                        })),
            new PoolLimits(true, 4 * BYTES, 4 * BYTES, 0, EvictionPolicy.LRU, false));
    Lease lease = pool[0].acquire(BYTES, 1);
    assertThat(limit.usedBytes()).isEqualTo(BYTES);
    if (kept) {
      lease.release();
      assertThat(limit.usedBytes()).isEqualTo(BYTES);
      pool[0].trim();
    } else {
      lease.discard();
    }
    assertThat(usedAtTheFree).containsExactly(BYTES);
    assertThat(shownAtTheFree).isEmpty();
    assertThat(limit.usedBytes()).isZero();
  }

  @Test
  void aBlockThatTheDriverRefusesToTakeBackIsNotChargedForEver() {
    Block block =
        limit
            .over(
                (bytes, _) ->
                    new Told(
                        bytes,
                        () -> {
                          throw new AcceleratorException("free", -1, "LOST", "it is gone");
                        }))
            .allocate(BYTES, 64);
    assertThatThrownBy(block::free).isInstanceOf(AcceleratorException.class);
    assertThat(limit.usedBytes()).isZero();
  }
}
