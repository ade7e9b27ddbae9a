package dev.tidepool.runtime.supply;

import dev.tidepool.diagnostics.MemoryPressure;
import dev.tidepool.pool.block.MemoryPool;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The maximum of memory that a manager may hold of drivers and the system. Bytes are reserved
 * before a driver allocates a block and released after it has freed the block, so the limit is
 * never exceeded. Idle memory in the manager's pools stays reserved, so a pool hit costs nothing
 * here.
 *
 * <p><b>Locking.</b> The monitor guards two numbers and the marks of {@link PressureMonitor}. It is
 * held for some nanoseconds; no driver and no listener is called under it.
 */
public final class MemoryLimit implements BudgetedBlock.Budget {
  private final @Nullable PressureMonitor pressure;
  private final ReentrantLock changing = new ReentrantLock();
  // Guarded by this.
  private long limitBytes;
  private long usedBytes;

  /**
   * Creates a limit of which nothing is used.
   *
   * @param pressure gets the used bytes; null for none
   */
  public MemoryLimit(long limitBytes, @Nullable PressureMonitor pressure) {
    this.limitBytes = limitBytes;
    this.pressure = pressure;
  }

  public synchronized long limitBytes() {
    return limitBytes;
  }

  public synchronized long usedBytes() {
    return usedBytes;
  }

  public synchronized long freeBytes() {
    return limitBytes - usedBytes;
  }

  /**
   * Changes the limit. Concurrent changes wait for one another.
   *
   * @param idle the used bytes that are idle in pools now
   * @param trim frees idle bytes, if needed
   * @throws IllegalArgumentException if more is in use; the limit is unchanged then
   */
  public void set(long bytes, LongSupplier idle, Runnable trim) {
    changing.lock();
    try {
      if (changed(bytes)) {
        return;
      }
      trim.run();
      if (!changed(bytes) && !lowered(bytes, idle, trim)) {
        throw new IllegalArgumentException(
            "a memory-limit of "
                + bytes
                + " bytes is below the "
                + usedBytes()
                + " bytes in use, "
                + idle.getAsLong()
                + " of them idle in pools; close buffers first, or defragment. The limit stays "
                + limitBytes()
                + " bytes");
      }
    } finally {
      changing.unlock();
    }
  }

  private boolean changed(long bytes) {
    synchronized (this) {
      if (bytes < usedBytes) {
        return false;
      }
      limitBytes = bytes;
    }
    observe();
    return true;
  }

  /**
   * Trims under the new limit: under the old one, other threads could refill the pools as fast.
   * Restores the old limit if the trim does not suffice.
   */
  private boolean lowered(long bytes, LongSupplier idle, Runnable trim) {
    long before;
    synchronized (this) {
      if (usedBytes - idle.getAsLong() > bytes) {
        return false;
      }
      before = limitBytes;
      limitBytes = bytes;
    }
    try {
      trim.run();
    } finally {
      synchronized (this) {
        limitBytes = usedBytes > bytes ? before : bytes;
      }
    }
    observe();
    return limitBytes() == bytes;
  }

  synchronized void reserve(long bytes) {
    if (bytes > limitBytes - usedBytes) {
      throw MemoryRefusedException.byLimit(bytes, usedBytes, limitBytes);
    }
    usedBytes += bytes;
  }

  /** Ends the reservation of bytes. */
  @Override
  public void freed(long bytes) {
    synchronized (this) {
      usedBytes -= bytes;
    }
    observe();
  }

  /** Reports the current level. Levels are read under the monitor, and so reported in order. */
  private void observe() {
    if (pressure != null) {
      List<MemoryPressure> reached;
      synchronized (this) {
        reached = pressure.ofManager(usedBytes, limitBytes);
      }
      pressure.tell(reached);
    }
  }

  /** Returns a source whose blocks count in the limit until they are freed. */
  MemoryPool.Source over(MemoryPool.Source source) {
    return (bytes, alignment) -> {
      reserve(bytes);
      try {
        observe();
        return BudgetedBlock.over(source.allocate(bytes, alignment), this, bytes);
      } catch (RuntimeException | Error e) {
        freed(bytes);
        throw e;
      }
    };
  }
}
