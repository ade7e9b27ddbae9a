package dev.tidepool.runtime.report;

import dev.tidepool.MemoryStatistics;
import dev.tidepool.diagnostics.Snapshot;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.metering.AllocationHistory;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.StorageContext;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads every block of a manager's pools once and builds a {@link Snapshot}. Takes no lock except
 * the lock of each buffer, briefly. Not for concurrent use.
 */
final class SnapshotBuilder {
  private final StorageContext context;
  private final List<Snapshot.Block> blocks = new ArrayList<>();
  private final Set<BufferCore> seen = new HashSet<>();
  private final Map<String, Snapshot.Tag> tags = new HashMap<>();

  SnapshotBuilder(StorageContext context) {
    this.context = context;
  }

  /**
   * Takes the snapshot.
   *
   * @param createdNanos when the manager was created
   * @param statistics of the manager; read last
   * @param foreign the buffers over memory of no pool
   * @param history the latest allocations and frees, or null if none are kept
   * @param reservations the open reservations of the manager
   */
  Snapshot take(
      long createdNanos,
      String reason,
      Supplier<MemoryStatistics> statistics,
      List<MemoryPool> pools,
      Iterable<BufferCore> foreign,
      @Nullable AllocationHistory history,
      List<Snapshot.Reserved> reservations) {
    List<Snapshot.Change> changes = history == null ? List.of() : history.changes();
    long forgotten = history == null ? 0 : history.count() - changes.size();
    List<Snapshot.Pool> found = new ArrayList<>();
    for (MemoryPool pool : pools) {
      int number = found.size();
      found.add(new Snapshot.Pool(pool.name(), pool.statistics()));
      pool.forEachBlock(block -> add(number, block));
    }
    foreign.forEach(this::add);
    changes.forEach(change -> tags.putIfAbsent(change.tag(), new Snapshot.Tag(change.tag(), 0, 0)));
    // Read after all ages: nothing is older than the manager that allocated it.
    return new Snapshot(
        Instant.now(),
        Duration.ofNanos(System.nanoTime() - createdNanos),
        reason,
        context.id(),
        context.accelerator().memory(),
        statistics.get(),
        found,
        List.copyOf(tags.values()),
        blocks,
        changes,
        forgotten,
        reservations);
  }

  private void add(int pool, PooledBlock block) {
    // The tenant is read first: a block that is idle afterwards has just been returned.
    BufferCore core = BufferCore.of(block);
    if (block.isIdle() || core == null) {
      Snapshot.State state = block.isIdle() ? Snapshot.State.IDLE : Snapshot.State.BUSY;
      blocks.add(
          new Snapshot.Block(
              pool,
              block.slabNumber(),
              block.block().start(),
              block.bytes(),
              state,
              "",
              "",
              0,
              Duration.ofNanos(block.ageNanos()),
              ""));
      return;
    }
    boolean ours = core.context() == context;
    if (ours) {
      count(core);
    }
    blocks.add(
        of(
            pool,
            block.slabNumber(),
            block.block().start(),
            block.bytes(),
            ours ? Snapshot.State.LIVE : Snapshot.State.BUSY,
            core));
  }

  /** Adds a buffer over memory of no pool. */
  private void add(BufferCore foreign) {
    count(foreign);
    blocks.add(of(Snapshot.NO_POOL, -1, 0, foreign.byteSize(), Snapshot.State.LIVE, foreign));
  }

  private static Snapshot.Block of(
      int pool, long slab, long offset, long bytes, Snapshot.State state, BufferCore core) {
    return new Snapshot.Block(
        pool,
        slab,
        offset,
        bytes,
        state,
        core.tag(),
        core.type().toString(),
        core.length(),
        Duration.ofNanos(core.ageNanos()),
        core.site());
  }

  /** Counts a buffer once, although it may have two blocks. */
  private void count(BufferCore core) {
    if (seen.add(core)) {
      tags.merge(
          core.tag(),
          new Snapshot.Tag(core.tag(), core.byteSize(), 1),
          (tag, one) ->
              new Snapshot.Tag(
                  tag.name(),
                  tag.liveBytes() + one.liveBytes(),
                  tag.liveBuffers() + one.liveBuffers()));
    }
  }
}
