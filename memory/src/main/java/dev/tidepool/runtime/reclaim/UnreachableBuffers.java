package dev.tidepool.runtime.reclaim;

import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.MemoryPools;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * Frees one manager's buffers that became unreachable without a close. Runs the garbage collector
 * occasionally, and when nothing else frees memory. Thread-safe.
 */
public final class UnreachableBuffers {
  /**
   * The minimum wait for further references of a collection after the first. On a busy machine the
   * thread that enqueues references is late with all of them.
   */
  private static final long QUEUEING_WAIT_NANOS = 20_000_000L;

  /** The minimum time between collections before evictions, because a collection costs more. */
  private static final long COLLECTOR_REST_NANOS = 10_000_000_000L;

  private final StorageContext context;
  private final MemoryPools pools;
  private final LongConsumer reclaim;
  private final AtomicLong lastCollection =
      new AtomicLong(System.nanoTime() - COLLECTOR_REST_NANOS);

  /**
   * Creates the recovery of one manager's unreachable buffers.
   *
   * @param reclaim closes buffers without handles; its argument is the maximum of nanoseconds to
   *     wait for the first one
   */
  public UnreachableBuffers(StorageContext context, MemoryPools pools, LongConsumer reclaim) {
    this.context = context;
    this.pools = pools;
    this.reclaim = reclaim;
  }

  /** The steps for one request; not thread-safe. */
  final class Reclaim {
    private final MemoryRequest<?> request;
    private final UnfinishedWork work;
    private final long before = leaks();
    private boolean begun;
    // Whether the collector has run while no operations were unfinished.
    private boolean collected;
    private boolean lastCollected;
    private boolean collects;
    private long deadline;

    Reclaim(MemoryRequest<?> request, UnfinishedWork work) {
      this.request = request;
      this.work = work;
    }

    /** Closes known unreachable buffers, and occasionally runs the collector to find more. */
    long free(long bytes) {
      if (!begun) {
        begun = true;
        reclaim.accept(0);
        long now = System.nanoTime();
        long last = lastCollection.get();
        if (now - last >= COLLECTOR_REST_NANOS && lastCollection.compareAndSet(last, now)) {
          return collect(before);
        }
        return leaks() - before;
      }
      return collects ? reclaimMore() : 0;
    }

    /**
     * Like {@link #free}, but runs the collector unless it has run, because nothing else frees
     * memory. First waits for unfinished operations, which reference their buffers.
     */
    long freeAtLast(long bytes) {
      if (!lastCollected && (!collected || work.isAny())) {
        lastCollected = true;
        work.await();
        // Other threads may have allocated since the last time.
        reclaim.accept(0);
        lastCollection.set(System.nanoTime());
        return collect(leaks());
      }
      return collects ? reclaimMore() : 0;
    }

    /** Runs the collector, unless more than {@code known} buffers have been reclaimed. */
    private long collect(long known) {
      if (context.counters().live() == 0) {
        return leaks() - before;
      }
      long late = 0;
      if (leaks() == known) {
        collected = !work.isAny();
        late = GarbageCollection.SHARED.run();
      }
      collects = true;
      deadline = System.nanoTime() + Math.max(QUEUEING_WAIT_NANOS, late);
      reclaim.accept(0);
      return leaks() > known ? 1 : reclaimMore();
    }

    /** Waits for further buffers that the collector found. */
    private long reclaimMore() {
      long seen = leaks();
      for (long left = deadline - System.nanoTime();
          left > 0;
          left = deadline - System.nanoTime()) {
        reclaim.accept(left);
        if (leaks() > seen) {
          return 1;
        }
      }
      collects = false;
      // Another thread may have reclaimed buffers, which are not counted here.
      return leaks() > before || pools.idleBytes() > 0 ? 1 : 0;
    }

    /** Notes what was done, for the message of a failure. */
    void report() {
      long reclaimed = leaks() - before;
      if (reclaimed > 0) {
        request.tried("reclaimed " + reclaimed + " unreachable buffers");
      }
    }
  }

  private long leaks() {
    return context.counters().leaks();
  }
}
