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
  private final ManagerContext memory;
  private final Leaks leaks;
  private final Kernels kernels;
  private final Room room;
  private final Pools pools;
  private final ArrayPools arrays;
  private final Cohorts cohorts;
  private final @Nullable MemoryLimit limit;
  private final @Nullable Pressure pressure;
  private long lastTrim = System.nanoTime();
  private long lastDefragmentation = System.nanoTime();

  Upkeep(
      ManagerContext memory,
      Leaks leaks,
      Kernels kernels,
      Room room,
      Pools pools,
      ArrayPools arrays,
      Cohorts cohorts,
      @Nullable MemoryLimit limit,
      @Nullable Pressure pressure) {
    this.memory = memory;
    this.leaks = leaks;
    this.kernels = kernels;
    this.room = room;
    this.pools = pools;
    this.arrays = arrays;
    this.cohorts = cohorts;
    this.limit = limit;
    this.pressure = pressure;
  }

  /**
   * Does what it is time for.
   *
   * @param hostIsShort whether the host has little memory left
   */
  void run(long now, boolean hostIsShort) {
    leaks.reclaim(0);
    kernels.releaseUnreachable();
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
    if (defragments > 0 && !memory.state().isClosed() && now - lastDefragmentation >= defragments) {
      lastDefragmentation = now;
      room.defragmentIfScattered();
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
    if (limit == null) {
      pressure.tell(pressure.ofManager(pools.reservedBytes(), info.totalBytes()));
    }
  }
}
