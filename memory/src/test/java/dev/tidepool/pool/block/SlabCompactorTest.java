package dev.tidepool.pool.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.HostAccess;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A pass that fails anywhere leaves every part where it was, and no idle part is lost. */
class SlabCompactorTest {
  private static final long BYTES = 4 << 10;
  private static final int LEASES = 2000;

  private final CountedBlock.Memory memory = new CountedBlock.Memory();
  private final MemoryPool pool = pool(false);
  private final List<PooledBlock> kept = new ArrayList<>();

  private MemoryPool pool(boolean zero) {
    memory.access = HostAccess.DIRECT;
    PoolLimits limits = new PoolLimits(true, 1L << 30, 1L << 30, 0, EvictionPolicy.LRU, zero);
    return new MemoryPool("test", memory, limits);
  }

  /** Every third part is in use. */
  private void scatter(MemoryPool pool) {
    List<PooledBlock> all = new ArrayList<>();
    for (int i = 0; i < LEASES; i++) {
      all.add(pool.take(BYTES, 1, true));
    }
    for (int i = 0; i < all.size(); i++) {
      if (i % 3 == 0) {
        all.get(i).occupy("a tenant");
        kept.add(all.get(i));
      } else {
        all.get(i).giveBack();
      }
    }
  }

  private boolean move(List<BlockMover.Move> moves) {
    for (BlockMover.Move move : moves) {
      move.to().occupy("a tenant");
      assertThat(kept.remove(move.from())).isTrue();
      kept.add(move.to());
    }
    return true;
  }

  @Test
  void aPassGivesSlabsBack() {
    scatter(pool);
    long before = memory.liveBytes.get();
    long returned = pool.compact(this::move);
    assertThat(returned).isPositive();
    assertThat(memory.liveBytes).hasValue(before - returned);
    assertAllGoesBack();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void aMoveThatThrowsKeepsNoMemory(int number) {
    scatter(pool);
    int[] calls = new int[1];
    assertThatThrownBy(
            () ->
                pool.compact(
                    moves -> {
                      if (calls[0]++ == number) {
                        throw new OutOfMemoryError("on purpose");
                      }
                      return move(moves);
                    }))
        .isInstanceOf(OutOfMemoryError.class);
    assertThat(pool.compact(this::move)).isPositive();
    assertAllGoesBack();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 130})
  void movesThatAreRefusedKeepNoMemory(int most) {
    scatter(pool);
    int[] calls = new int[1];
    pool.compact(moves -> moves.size() == 1 && ++calls[0] % most != 0 && move(moves));
    assertAllGoesBack();
  }

  @Test
  void partsThatAreNotCleanAreNotTakenAgain() {
    MemoryPool clearing = pool(true);
    scatter(clearing);
    List<PooledBlock> unclean = new ArrayList<>();
    clearing.compact(
        moves -> {
          BlockMover.Move last = moves.getLast();
          boolean moved = unclean.size() < 3 && moves.size() == 1 && move(moves);
          PooledBlock left = moved ? last.from() : last.to();
          left.markUnclean();
          unclean.add(left);
          return moved;
        });
    assertThat(unclean).hasSizeGreaterThan(3);
    for (int i = 0; i < LEASES; i++) {
      PooledBlock next = clearing.take(BYTES, 1, true);
      kept.add(next);
      assertThat(unclean).doesNotContain(next);
    }
    kept.forEach(PooledBlock::giveBack);
    clearing.trim();
    assertThat(memory.live).hasValue(0);
  }

  private void assertAllGoesBack() {
    kept.forEach(PooledBlock::giveBack);
    pool.trim();
    assertThat(memory.live).hasValue(0);
  }
}
