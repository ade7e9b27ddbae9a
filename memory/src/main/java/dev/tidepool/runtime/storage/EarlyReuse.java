package dev.tidepool.runtime.storage;

import dev.tidepool.pool.block.BlockPool;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PooledBlock;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of a manager whose buffers were closed while kernels use them, on offer to the next
 * buffers of their size. They are not idle: no pool trims, moves or counts them as such.
 *
 * <p>Idle blocks go first. Of these here the one that was offered first goes first, for its kernels
 * end first. Where buffers are filled from the host before kernels use them, one block is left for
 * the kernels while the next one is filled: so a second one is waited for before any is taken,
 * unless the driver has no more.
 *
 * <p>Safe for use by any thread. The monitor guards the offers, and may be taken under that of a
 * storage; nothing is called under it.
 */
public final class EarlyReuse {
  /** Offers that are looked at: those behind will be there when these are gone. */
  private static final int MOST_LOOKS = 8;

  /** Buffers under way of those that the host fills. */
  private static final int IN_TURN = 2;

  /** What was offered of one size, of one pool. */
  private record Size(BlockPool pool, long bytes) {
    static Size of(PooledBlock block) {
      return new Size(block.pool(), block.bytes());
    }
  }

  private final Map<Size, Set<BlockHandover>> offers = new HashMap<>();
  // Written under the monitor.
  private volatile int count;

  public boolean isEmpty() {
    return count == 0;
  }

  /** Offers a block until its kernels have ended. */
  void offer(BlockHandover handover) {
    handover.unlessOver(
        () -> {
          synchronized (this) {
            offers
                .computeIfAbsent(Size.of(handover.block()), _ -> new LinkedHashSet<>())
                .add(handover);
            count++;
          }
        });
  }

  /** Takes an offer back, if it was made. */
  synchronized void withdraw(BlockHandover handover) {
    Size size = Size.of(handover.block());
    Set<BlockHandover> same = offers.get(size);
    if (same != null && same.remove(handover)) {
      count--;
      if (same.isEmpty()) {
        offers.remove(size);
      }
    }
  }

  /**
   * Takes a block that kernels still use, for a buffer that {@linkplain BufferCore#succeed comes
   * behind} them.
   *
   * @param pool whose blocks will do
   * @param bytes that the buffer needs
   * @param noOther whether there is no other block to be had
   */
  public @Nullable PooledBlock take(MemoryPool pool, long bytes, boolean noOther) {
    if (isEmpty()) {
      return null;
    }
    long most = pool.mostBytesFor(bytes);
    for (long size = pool.blockBytes(bytes); size <= most; size = pool.blockBytes(size + 1)) {
      for (BlockHandover candidate : candidates(new Size(pool, size), noOther)) {
        PooledBlock block = candidate.claim();
        if (block != null) {
          withdraw(candidate);
          return block;
        }
      }
    }
    return null;
  }

  private synchronized List<BlockHandover> candidates(Size size, boolean noOther) {
    Set<BlockHandover> same = offers.getOrDefault(size, Set.of());
    boolean any = noOther || same.size() >= IN_TURN;
    return same.stream()
        .limit(MOST_LOOKS)
        .filter(handover -> any || handover.isKernelsAlone())
        .toList();
  }
}
