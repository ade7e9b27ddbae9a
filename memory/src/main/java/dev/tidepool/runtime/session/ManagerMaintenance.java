package dev.tidepool.runtime.session;

import dev.tidepool.AcceleratorException;
import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryOptions;
import dev.tidepool.pool.object.ArrayPools;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.kernel.ProgramCache;
import dev.tidepool.runtime.lending.Lender;
import dev.tidepool.runtime.metering.LeakDetector;
import dev.tidepool.runtime.reclaim.Reclaimer;
import dev.tidepool.runtime.report.LeakReclaimer;
import dev.tidepool.runtime.supply.LowMemory;
import dev.tidepool.runtime.supply.MemoryLimit;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.runtime.supply.PressureMonitor;
import org.jspecify.annotations.Nullable;

/**
 * The regular work for one manager: closes leaked buffers, trims pools, defragments memory, and
 * reports memory pressure to listeners. Only the session's {@link SessionMaintenance} thread runs
 * it.
 */
final class ManagerMaintenance {
  private final ManagerContext context;
  private final LeakReclaimer leaks;
  private final Lender lender;
  private final ProgramCache kernels;
  private final Reclaimer reclaimer;
  private final MemoryPools pools;
  private final ArrayPools arrays;
  private final LeakDetector leakDetector;
  private final @Nullable MemoryLimit limit;
  private final @Nullable PressureMonitor pressure;
  private long lastTrim = System.nanoTime();
  private long lastDefragmentation = System.nanoTime();

  ManagerMaintenance(
      ManagerContext context,
      LeakReclaimer leaks,
      Lender lender,
      ProgramCache kernels,
      Reclaimer reclaimer,
      MemoryPools pools,
      ArrayPools arrays,
      LeakDetector leakDetector,
      @Nullable MemoryLimit limit,
      @Nullable PressureMonitor pressure) {
    this.context = context;
    this.leaks = leaks;
    this.lender = lender;
    this.kernels = kernels;
    this.reclaimer = reclaimer;
    this.pools = pools;
    this.arrays = arrays;
    this.leakDetector = leakDetector;
    this.limit = limit;
    this.pressure = pressure;
  }

  /**
   * Does the work that is due.
   *
   * @param hostIsShort whether the host has little memory left
   */
  void run(boolean hostIsShort) {
    long now = System.nanoTime();
    lender.endUnreachable();
    leaks.reclaim(0);
    kernels.releaseUnreachable();
    leakDetector.tick();
    pools.drain();
    MemoryOptions options = context.options();
    if (options.trimOnPressure()) {
      trimIfShort(hostIsShort);
    }
    if (pressure != null) {
      tell(pressure);
    }
    long trims = options.trimInterval().toNanos();
    if (trims > 0 && now - lastTrim >= trims) {
      lastTrim = now;
      pools.trimIdleSince(now - trims);
      arrays.maintain();
    }
    long defragments = options.defragmentInterval().toNanos();
    if (defragments > 0
        && !context.state().isClosed()
        && now - lastDefragmentation >= defragments) {
      lastDefragmentation = now;
      reclaimer.defragmentIfScattered();
    }
  }

  private void trimIfShort(boolean hostIsShort) {
    if (hostIsShort) {
      pools.trim(true);
    }
    if (LowMemory.on(context.device())) {
      pools.trim(false);
    }
  }

  private void tell(PressureMonitor pressure) {
    MemoryInfo info;
    try {
      info = context.device().memory();
    } catch (AcceleratorException e) {
      return; // A device that no longer answers has no memory.
    }
    pressure.tell(pressure.ofDevice(info));
    if (limit == null) {
      pressure.tell(pressure.ofManager(pools.reservedBytes(), info.totalBytes()));
    }
  }
}
