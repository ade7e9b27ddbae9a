package dev.tidepool.runtime.supply;

import dev.tidepool.diagnostics.MemoryPressure;
import dev.tidepool.pool.block.MemoryPool;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a manager may hold of drivers and system at most: bytes are reserved before a driver is
 * asked and given back after it has the block again, so the limit is never exceeded. What lies idle
 * in the manager's pools stays reserved, and a pool's hit costs nothing here.
 *
 * <p><b>Locking.</b> Its monitor guards two numbers and the marks of {@link PressureMonitor}, for
 * some nanoseconds; no driver and no listener is called under it.
 */
public final class MemoryLimit {
  private final @Nullable PressureMonitor pressure;
  private final BudgetedBlock.Budget uncharged = this::giveBack;
  private final ReentrantLock changing = new ReentrantLock();
  // Guarded by this.
  private long limitBytes;
  private long usedBytes;

  /**
   * Creates a limit with nothing used.
   *
   * @param pressure is told how much is used; null for none
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
   * Sets another limit. Threads that do so wait for one another.
   *
   * @param idle how many of the used bytes lie idle in pools now
   * @param trim gives back what is idle, if that is needed
   * @throws IllegalArgumentException if more is in use; nothing is changed then
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
   * Trims below the lower limit: above it, other threads would fill the pools again as fast. The
   * limit is what it was if that does not suffice.
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

  void giveBack(long bytes) {
    synchronized (this) {
      usedBytes -= bytes;
    }
    observe();
  }

  /** Reports the present level. It is read under the monitor, so levels are reported in order. */
  private void observe() {
    if (pressure != null) {
      List<MemoryPressure> reached;
      synchronized (this) {
        reached = pressure.ofManager(usedBytes, limitBytes);
      }
      pressure.tell(reached);
    }
  }

  /** Returns a source whose blocks count until they are freed. */
  MemoryPool.Source over(MemoryPool.Source source) {
    return (bytes, alignment) -> {
      reserve(bytes);
      try {
        observe();
        return BudgetedBlock.over(source.allocate(bytes, alignment), uncharged, bytes);
      } catch (RuntimeException | Error e) {
        giveBack(bytes);
        throw e;
      }
    };
  }
}
