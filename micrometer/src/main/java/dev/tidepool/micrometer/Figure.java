package dev.tidepool.micrometer;

import dev.tidepool.MemoryStatistics;
import dev.tidepool.transfer.TransferStatistics;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import java.util.List;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A figure that each manager has.
 *
 * @param name the name of the meter
 * @param tags the tags besides the manager's
 * @param unit the base unit; null for a plain count
 * @param cumulative whether the figure only grows: its meter is a counter, otherwise a gauge
 * @param description a description for people
 * @param value reads the figure from a sample
 */
record Figure(
    String name,
    Tags tags,
    @Nullable String unit,
    boolean cumulative,
    String description,
    ToLongFunction<Sampler.Sample> value) {

  private static final String ALLOCATIONS = "allocations";

  /**
   * All figures except the times of transfers. Meters refer weakly to their state object, which is
   * an element of this list; the class keeps the list reachable.
   */
  static final List<Figure> ALL =
      List.of(
          now(
              "memory.live",
              BaseUnits.BYTES,
              "Live buffers, as asked for",
              m -> m.totalAllocated()),
          now("memory.live.peak", BaseUnits.BYTES, "Most live bytes", m -> m.peakUsage()),
          now(
              "memory.reserved",
              BaseUnits.BYTES,
              "Held of driver and system",
              m -> m.reservedBytes()),
          now("memory.reserved.peak", BaseUnits.BYTES, "Most bytes held", m -> m.peakReserved()),
          now("memory.pinned", BaseUnits.BYTES, "Page-locked, all managers", m -> m.pinnedBytes()),
          now("memory.spilled", BaseUnits.BYTES, "In the spill file", m -> m.spilledBytes()),
          now("pool.idle", BaseUnits.BYTES, "Idle in the pools", m -> m.totalPooled()),
          now("buffers.live", BaseUnits.BUFFERS, "Live buffers", m -> m.activeBuffers()),
          sum("buffers.allocated", BaseUnits.BUFFERS, "Allocated", m -> m.totalAllocations()),
          sum("buffers.freed", BaseUnits.BUFFERS, "Freed", m -> m.totalFreed()),
          sum("buffers.leaked", BaseUnits.BUFFERS, "Reclaimed unclosed", m -> m.leaks()),
          sum("buffers.evicted", BaseUnits.BUFFERS, "Device copies given up", m -> m.evictions()),
          sum("buffers.spilled", BaseUnits.BUFFERS, "Written to the spill file", m -> m.spills()),
          sum("buffers.unspilled", BaseUnits.BUFFERS, "Brought back from it", m -> m.unspills()),
          sum("buffers.lost", BaseUnits.BUFFERS, "Results that were lost", m -> m.lostResults()),
          sum("memory.allocated", BaseUnits.BYTES, "Allocated", m -> m.totalBytesAllocated()),
          sum("memory.freed", BaseUnits.BYTES, "Freed", m -> m.totalBytesFreed()),
          sum("pool.hits", ALLOCATIONS, "Served by a pool", m -> m.poolHits()),
          sum("pool.misses", ALLOCATIONS, "Served by driver or system", m -> m.poolMisses()),
          sum(
              "driver.allocations",
              ALLOCATIONS,
              "Calls that allocated",
              m -> m.driverAllocations()),
          sum("pinned.fallbacks", ALLOCATIONS, "PINNED as plain memory", m -> m.pinnedFallbacks()),
          moved("to_device", t -> t.hostToDeviceBytes()),
          moved("to_host", t -> t.deviceToHostBytes()),
          moved("on_device", t -> t.deviceToDeviceBytes()),
          new Figure(
              "tidepool.transfer.retries",
              Tags.empty(),
              null,
              true,
              "Transfers tried again",
              sample -> sample.transfers().retries()));

  private static Figure now(
      String name, String unit, String description, ToLongFunction<MemoryStatistics> value) {
    return of(name, unit, false, description, value);
  }

  private static Figure sum(
      String name, String unit, String description, ToLongFunction<MemoryStatistics> value) {
    return of(name, unit, true, description, value);
  }

  private static Figure of(
      String name,
      String unit,
      boolean cumulative,
      String description,
      ToLongFunction<MemoryStatistics> value) {
    return new Figure(
        "tidepool." + name,
        Tags.empty(),
        unit,
        cumulative,
        description,
        sample -> value.applyAsLong(sample.memory()));
  }

  private static Figure moved(String direction, ToLongFunction<TransferStatistics> value) {
    return new Figure(
        "tidepool.transfer.io",
        Tags.of("direction", direction),
        BaseUnits.BYTES,
        true,
        "Bytes moved between host and device",
        sample -> value.applyAsLong(sample.transfers()));
  }
}
