package dev.tidepool.pool.block;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Blocks, and slabs by their first part, that wait to be freed. Threads that return blocks must not
 * wait for the driver.
 *
 * <p>The stack is linked through the blocks: adding allocates nothing, and all are taken at once.
 */
final class PendingFrees {
  private final AtomicReference<@Nullable PooledBlock> newest = new AtomicReference<>();

  void add(PooledBlock block) {
    PooledBlock next = newest.get();
    block.nextPendingFree = next;
    while (!newest.compareAndSet(next, block)) {
      next = newest.get();
      block.nextPendingFree = next;
    }
  }

  /** Takes all blocks, linked by {@link PooledBlock#nextPendingFree}. */
  @Nullable PooledBlock takeAll() {
    return newest.get() == null ? null : newest.getAndSet(null);
  }
}
