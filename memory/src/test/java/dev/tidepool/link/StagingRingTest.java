package dev.tidepool.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PoolLimits;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class StagingRingTest {
  private static final long CHUNK = 64 << 10;

  private final MemoryPool pool =
      new MemoryPool(
          "staging",
          (bytes, alignment) -> new Staged(Arena.ofAuto().allocate(bytes, alignment)),
          new PoolLimits(true, 1 << 30, 1 << 30, 0, EvictionPolicy.LRU, false));
  private final List<String> calls = new ArrayList<>();

  private record Staged(MemorySegment segment) implements Block {
    @Override
    public long byteSize() {
      return segment.byteSize();
    }

    @Override
    public HostAccess hostAccess() {
      return HostAccess.DIRECT;
    }

    @Override
    public void free() {}
  }

  /** A command whose state cannot be asked for, and which fails when it is waited for. */
  private final class Broken implements Event {
    @Override
    public boolean isDone() {
      throw new IllegalStateException("the driver does not say");
    }

    @Override
    public void await() {
      calls.add("awaited, with " + pool.statistics().leasedBlocks() + " blocks");
      throw new InternalError("the driver says no more");
    }

    @Override
    public void close() {
      calls.add("closed");
    }
  }

  @Test
  void aCommandWhoseStateCannotBeAskedForIsEndedBeforeItsBlockGoesBack() {
    AdaptiveCostModel model = new AdaptiveCostModel(new StagingModel(1, 1, 1, 1));
    assertThatThrownBy(
            () -> {
              try (StagingRing ring =
                  new StagingRing(
                      4 * CHUNK,
                      1,
                      CHUNK,
                      2,
                      true,
                      (bytes, pinned) -> pool.acquire(bytes, 1),
                      model)) {
                ring.run((staged, at) -> new Broken(), _ -> {});
              }
            })
        .hasMessage("the driver does not say");
    assertThat(calls)
        .containsExactly("awaited, with 2 blocks", "closed", "awaited, with 1 blocks", "closed");
    assertThat(pool.statistics().leasedBlocks()).isZero();
  }

  @Test
  void aPieceIsOfWholeElementsAndOfOneWhereTheyAreLargerThanAChunk() {
    assertThat(StagingRing.step(24, 64)).isEqualTo(48);
    assertThat(StagingRing.step(100, 64)).isEqualTo(100);
  }

  @Test
  void blocksThatCannotBeUsedGoBack() {
    MemoryPool unreachable =
        new MemoryPool(
            "device",
            (bytes, alignment) -> new Unreachable(bytes),
            new PoolLimits(true, 1 << 30, 1 << 30, 0, EvictionPolicy.LRU, false));
    assertThatThrownBy(
            () ->
                new StagingRing(
                    2 * CHUNK,
                    1,
                    CHUNK,
                    2,
                    true,
                    (bytes, pinned) -> unreachable.acquire(bytes, 64),
                    null))
        .isInstanceOf(NullPointerException.class);
    assertThat(unreachable.statistics().leasedBlocks()).isZero();
  }

  private record Unreachable(long byteSize) implements Block {
    @Override
    public HostAccess hostAccess() {
      return HostAccess.NONE;
    }

    @Override
    public @Nullable MemorySegment segment() {
      return null;
    }

    @Override
    public void free() {}
  }
}
