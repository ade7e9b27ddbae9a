package dev.tidepool.runtime;

import dev.tidepool.AcceleratorException;
import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryOptions;
import dev.tidepool.pool.ArrayPools;
import org.jspecify.annotations.Nullable;

/**
 * The regular work for one manager: leaks are noticed, pools trimmed, scattered memory moved
 * together, and listeners told how full it is. Only the session's {@link Maintenance} thread does
 * it.
 */
final class Upkeep {
  private final AcceleratorMemory memory;
  private final Pools pools;
  private final ArrayPools arrays;
  private final Cohorts cohorts;
  private final @Nullable Pressure pressure;
  private long lastTrim = System.nanoTime();
  private long lastDefragmentation = System.nanoTime();

  Upkeep(
      AcceleratorMemory memory,
      Pools pools,
      ArrayPools arrays,
      Cohorts cohorts,
      @Nullable Pressure pressure) {
    this.memory = memory;
    this.pools = pools;
    this.arrays = arrays;
    this.cohorts = cohorts;
    this.pressure = pressure;
  }

  /**
   * Does what it is time for.
   *
   * @param hostIsShort whether the host has little memory left
   */
  void run(long now, boolean hostIsShort) {
    memory.reclaimUnreachable();
    memory.kernels().releaseUnreachable();
    cohorts.tick();
    pools.drain();
    if (hostIsShort) {
      pools.trim(true);
    }
    if (Shortage.on(memory.device())) {
      pools.trim(false);
    }
    if (pressure != null) {
      tell(pressure);
    }
    MemoryOptions options = memory.options();
    long trims = options.trimInterval().toNanos();
    if (trims > 0 && now - lastTrim >= trims) {
      lastTrim = now;
      pools.trimIdleSince(now - trims);
      arrays.maintain();
    }
    long defragments = options.defragmentInterval().toNanos();
    if (defragments > 0 && !memory.isClosed() && now - lastDefragmentation >= defragments) {
      lastDefragmentation = now;
      memory.room().defragmentIfScattered();
    }
  }

  private void tell(Pressure pressure) {
    MemoryInfo info;
    try {
      info = memory.device().memory();
    } catch (AcceleratorException e) {
      return; // A device that does not answer any more has no memory.
    }
    pressure.tell(pressure.ofDevice(info));
    if (memory.limit() == null) {
      pressure.tell(pressure.ofManager(pools.reservedBytes(), info.totalBytes()));
    }
  }
}
