package dev.tidepool.runtime.reclaim;

import dev.tidepool.spi.support.Uninterruptibly;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs the garbage collector for requests that found no memory. Many requests of a busy process may
 * be refused at once. Those that come during a run share the next one, which finds everything that
 * was unreachable before they came. Thread-safe.
 */
final class GarbageCollection {
  /** The runs of this process. */
  static final GarbageCollection SHARED = new GarbageCollection(GarbageCollection::collect);

  /**
   * The maximum wait for the first reference after a collection. Usually it is enqueued at once,
   * but never if the collector does not run on request.
   */
  private static final long COLLECTOR_WAIT_MILLIS = 500;

  private final LongSupplier collector;

  // Guarded by this. Runs have numbers from 1 on.
  private long begun;
  private long ended;
  private boolean running;
  private long delay;

  /**
   * Creates a sequence of runs.
   *
   * @param collector runs the collector, and returns the result of {@link #run}
   */
  GarbageCollection(LongSupplier collector) {
    this.collector = collector;
  }

  /**
   * Runs the collector, or waits for a run that another thread begins after this call. An interrupt
   * stays set.
   *
   * @return the nanoseconds from the collection to its first reference; 0 if none came
   */
  long run() {
    long number;
    synchronized (this) {
      long next = begun + 1;
      Uninterruptibly.await(this, () -> !running || ended >= next);
      if (ended >= next) {
        return delay;
      }
      running = true;
      begun++;
      number = begun;
    }
    long late = 0;
    boolean done = false;
    try {
      late = collector.getAsLong();
      done = true;
    } finally {
      synchronized (this) {
        running = false;
        if (done) {
          ended = number;
          delay = late;
        }
        notifyAll();
      }
    }
    return late;
  }

  /** Runs the garbage collector, and waits for its first reference. An interrupt stays set. */
  private static long collect() {
    // Unreachable, so the collector enqueues it, and other references with it.
    ReferenceQueue<Object> queue = new ReferenceQueue<>();
    PhantomReference<Object> sentinel = new PhantomReference<>(new Object(), queue);
    System.gc();
    long collected = System.nanoTime();
    try {
      // Not interruptible: other requests that share the run need the result, too.
      @Nullable Reference<?> first = Uninterruptibly.get(() -> queue.remove(COLLECTOR_WAIT_MILLIS));
      return first == null ? 0 : System.nanoTime() - collected;
    } finally {
      Reference.reachabilityFence(sentinel);
    }
  }
}
