package dev.tidepool.pool.object;

import dev.tidepool.spi.support.FailureLog;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * The daemon thread that maintains one object pool at an interval, until the pool is closed. It
 * holds the pool weakly, so that a pool that was not closed can be collected. It is a platform
 * thread, because the functions that create and destroy objects may block in native code.
 */
final class ObjectPoolMaintenance implements AutoCloseable {
  private final WeakReference<StripedObjectPool<?>> pool;
  private final long intervalNanos;
  private final Thread thread;

  private ObjectPoolMaintenance(StripedObjectPool<?> pool, Duration interval) {
    this.pool = new WeakReference<>(pool);
    this.intervalNanos = interval.toNanos();
    this.thread = Thread.ofPlatform().daemon().name("tidepool-object-pool").unstarted(this::run);
  }

  static ObjectPoolMaintenance start(StripedObjectPool<?> pool, Duration interval) {
    ObjectPoolMaintenance maintenance = new ObjectPoolMaintenance(pool, interval);
    maintenance.thread.start();
    return maintenance;
  }

  private void run() {
    long next = System.nanoTime() + intervalNanos;
    while (isNeeded()) {
      LockSupport.parkNanos(this, next - System.nanoTime());
      if (System.nanoTime() - next >= 0) {
        maintain();
        // A function of the pool may have interrupted this thread, which would prevent parking.
        Thread.interrupted();
        next = System.nanoTime() + intervalNanos;
      }
    }
  }

  private boolean isNeeded() {
    StripedObjectPool<?> current = pool.get();
    return current != null && !current.isClosed();
  }

  private void maintain() {
    StripedObjectPool<?> current = pool.get();
    if (current == null) {
      return;
    }
    try {
      current.maintain();
    } catch (RuntimeException | Error e) {
      FailureLog.warn("the maintenance of an object pool failed; it goes on", e);
    }
  }

  /** Ends the thread. The pool must be closed already. */
  @Override
  public void close() {
    LockSupport.unpark(thread);
  }
}
