package dev.tidepool.runtime.reclaim;

import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.MemoryPools;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * Frees the memory of one manager's buffers that were never closed and cannot be reached. The
 * collector is asked to run once in a while, and when nothing else frees memory. Thread-safe.
 */
public final class UnreachableBuffers {
  /**
   * The longest wait for the first reference after a collection. It comes at once as a rule, and
   * never where the collector does not run on request.
   */
  private static final long COLLECTOR_WAIT_MILLIS = 500;

  /**
   * How long the rest of what a collection found takes to be queued after its first, at least. On a
   * busy machine the thread that queues is late with the first, and with the rest.
   */
  private static final long QUEUEING_WAIT_NANOS = 20_000_000L;

  /** A collection costs more than giving a copy up, so it comes first only once in a while. */
  private static final long COLLECTOR_REST_NANOS = 10_000_000_000L;

  private final StorageContext context;
  private final MemoryPools pools;
  private final LongConsumer reclaim;
  private final AtomicLong lastCollection =
      new AtomicLong(System.nanoTime() - COLLECTOR_REST_NANOS);

  /**
   * Creates it for one manager.
   *
   * @param reclaim closes buffers that no handle is left of; is told for how many nanoseconds it
   *     may wait for the collector to find some
   */
  public UnreachableBuffers(StorageContext context, MemoryPools pools, LongConsumer reclaim) {
    this.context = context;
    this.pools = pools;
    this.reclaim = reclaim;
  }

  /** What is done for one request; not thread-safe. */
  final class Reclaim {
    private final MemoryRequest<?> request;
    private final long before = leaks();
    private boolean begun;
    private boolean collected;
    private boolean collects;
    private long deadline;

    Reclaim(MemoryRequest<?> request) {
      this.request = request;
    }

    /** Closes what is known to be unreachable, and asks the collector for more once in a while. */
    long free(long bytes) {
      if (!begun) {
        begun = true;
        reclaim.accept(0);
        long now = System.nanoTime();
        long last = lastCollection.get();
        if (now - last >= COLLECTOR_REST_NANOS && lastCollection.compareAndSet(last, now)) {
          return collect();
        }
        return leaks() - before;
      }
      return collects ? reclaimMore() : 0;
    }

    /**
     * Like {@link #free}, when nothing else frees memory: runs the collector, unless it has run.
     */
    long freeAtLast(long bytes) {
      if (!collected) {
        lastCollection.set(System.nanoTime());
        return collect();
      }
      return collects ? reclaimMore() : 0;
    }

    private long collect() {
      collected = true;
      if (context.counters().live() == 0) {
        return leaks() - before;
      }
      long late = leaks() == before ? runCollector() : 0;
      collects = true;
      deadline = System.nanoTime() + Math.max(QUEUEING_WAIT_NANOS, late);
      reclaim.accept(0);
      return leaks() > before ? 1 : reclaimMore();
    }

    /** Waits for more that the collector found. */
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

    /** Tells what was done, for the message of a failure. */
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

  /**
   * Runs the garbage collector, and waits for its first reference. An interrupt stays set.
   *
   * @return for how many nanoseconds it waited for the first reference after the collection; 0 if
   *     none came
   */
  private static long runCollector() {
    // Unreachable, so it is queued when the collector has run, and much else with it.
    ReferenceQueue<Object> queue = new ReferenceQueue<>();
    PhantomReference<Object> sentinel = new PhantomReference<>(new Object(), queue);
    System.gc();
    long collected = System.nanoTime();
    try {
      return queue.remove(COLLECTOR_WAIT_MILLIS) == null ? 0 : System.nanoTime() - collected;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return 0;
    } finally {
      Reference.reachabilityFence(sentinel);
    }
  }
}
