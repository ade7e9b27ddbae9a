package dev.tidepool.runtime.report;

import dev.tidepool.MemoryStatistics;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.diagnostics.Snapshot;
import dev.tidepool.host.PinnedBudget;
import dev.tidepool.pool.object.ArrayPools;
import dev.tidepool.pooling.ArrayPoolStatistics;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.metering.AllocationLedger;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.runtime.supply.ReservationLedger;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reports on the buffers of a manager: statistics, the latest allocations and frees, snapshots, and
 * the dump when memory runs out.
 *
 * <p>Thread-safe. Threads that allocate or free never wait for a report.
 */
public final class ManagerReports {
  private final StorageContext context;
  private final MemoryPools pools;
  private final ArrayPools arrays;
  private final AllocationCounters counters;
  private final AllocationLedger ledger;
  private final PinnedBudget pinned;
  private final ReservationLedger reservations;
  private final @Nullable OutOfMemoryDumps dumps;

  /**
   * Creates the reports of a new manager.
   *
   * @param pinned the budget of page-locked memory of the session
   * @param reservations the reservations of the device
   * @param dumps writes snapshots when memory runs out, or null
   */
  public ManagerReports(
      StorageContext context,
      MemoryPools pools,
      ArrayPools arrays,
      PinnedBudget pinned,
      ReservationLedger reservations,
      @Nullable OutOfMemoryDumps dumps) {
    this.context = context;
    this.pools = pools;
    this.arrays = arrays;
    this.counters = context.counters();
    this.ledger = context.ledger();
    this.pinned = pinned;
    this.reservations = reservations;
    this.dumps = dumps;
  }

  public MemoryStatistics statistics() {
    // Frees are read before allocations, so that their difference is never negative.
    long frees = counters.frees();
    long allocations = counters.allocations();
    long freedBytes = counters.freedBytes();
    long allocatedBytes = counters.allocatedBytes();
    long live = counters.live() + arrays.sum(ArrayPoolStatistics::rentedBytes);
    long arrayHits = arrays.sum(ArrayPoolStatistics::hits);
    SpillFile spilling = context.spilling();
    return new MemoryStatistics(
        live,
        pools.idleBytes() + arrays.sum(ArrayPoolStatistics::idleBytes),
        counters.hits() + arrayHits,
        counters.misses() + arrays.sum(ArrayPoolStatistics::rents) - arrayHits,
        allocations - frees,
        counters.peak(live),
        pinned.usedBytes(),
        allocations,
        frees,
        counters.misses(),
        pools.fallbacks(),
        counters.evictions(),
        counters.leaks(),
        pools.reservedBytes(),
        pools.peakReservedBytes(),
        allocatedBytes,
        freedBytes,
        System.nanoTime() - ledger.createdNanos(),
        spilling == null ? 0 : spilling.spilledBytes(),
        spilling == null ? 0 : spilling.spills(),
        spilling == null ? 0 : spilling.returns(),
        counters.lostResults());
  }

  /** Returns live bytes by tag, the largest first. Rented arrays have the empty tag. */
  public Map<String, Long> bytesByTag() {
    return context.registry().bytesByTag(arrays.sum(ArrayPoolStatistics::rentedBytes));
  }

  /** Takes a snapshot with every block of the pools and every buffer without a block. */
  public Snapshot snapshot(String reason) {
    return new SnapshotBuilder(context)
        .take(
            ledger.createdNanos(),
            reason,
            this::statistics,
            pools.all().toList(),
            context.registry().withoutBlock(),
            ledger.history(),
            reserved());
  }

  private List<Snapshot.Reserved> reserved() {
    return reservations.open().stream()
        .filter(each -> each.manager().equals(context.manager()))
        .map(each -> new Snapshot.Reserved(each.name(), each.bytes(), each.usedBytes()))
        .toList();
  }

  /** Records that an allocation has finally failed. Never throws. */
  public void exhausted(OutOfDeviceMemoryException failure) {
    FlightEvents.exhausted(
        context.id(),
        failure.requestedBytes(),
        failure.freeBytes(),
        failure.pooledBytes(),
        counters.live(),
        String.valueOf(failure.getMessage()));
    if (dumps != null && failure.requestedBytes() <= context.largest()) {
      dumps.write(() -> snapshot(String.valueOf(failure.getMessage())));
    }
  }
}
