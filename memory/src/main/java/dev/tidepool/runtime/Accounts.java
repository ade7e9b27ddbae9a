package dev.tidepool.runtime;

import dev.tidepool.Allocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.diagnostics.Snapshot;
import dev.tidepool.pool.ArrayPools;
import dev.tidepool.pooling.ArrayPoolStatistics;
import dev.tidepool.runtime.flight.Flight;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a manager knows of its buffers, and tells: figures, the latest allocations and frees,
 * snapshots, and what is written down when memory runs out.
 *
 * <p>Safe for use by any thread; nobody who allocates or frees waits for who asks.
 */
final class Accounts {
  private static final int USUAL_HISTORY = 100_000;

  private final AcceleratorMemory memory;
  private final Pools pools;
  private final ArrayPools arrays;
  private final LiveBuffers registry;
  private final Counters counters;
  private final long bornNanos = System.nanoTime();
  private final @Nullable History history;
  private final @Nullable ExhaustionDumps dumps;

  /**
   * Nothing was allocated yet.
   *
   * @throws IllegalArgumentException if the options name a folder for dumps that is none
   */
  Accounts(
      AcceleratorMemory memory,
      Pools pools,
      ArrayPools arrays,
      LiveBuffers registry,
      Counters counters) {
    this.memory = memory;
    this.pools = pools;
    this.arrays = arrays;
    this.registry = registry;
    this.counters = counters;
    this.history = history(memory.options(), bornNanos);
    this.dumps = memory.options().dumpDirectory().map(ExhaustionDumps::new).orElse(null);
  }

  private static @Nullable History history(MemoryOptions options, long bornNanos) {
    // An entry costs more than an allocation does, so only those who asked for it pay it.
    boolean usual =
        options.diagnostics() == DiagnosticsLevel.PARANOID || options.dumpDirectory().isPresent();
    int events = options.history() == -1 && usual ? USUAL_HISTORY : options.history();
    return events > 0 ? new History(events, bornNanos) : null;
  }

  /** A buffer is about to be found among those that live. */
  void allocated(Allocation allocation, long bytes) {
    counters.allocated(bytes);
    if (history != null) {
      history.add(bytes, allocation.tag());
    }
  }

  /**
   * A buffer's blocks are about to go, so that their next owner does not seem to be there beside
   * it.
   */
  void freed(Tenancy tenancy) {
    counters.freed(tenancy.byteSize());
    if (history != null) {
      history.add(-tenancy.byteSize(), tenancy.tag());
    }
  }

  /**
   * Whether each allocation and free is written down, in the order in which blocks change hands.
   */
  boolean keepHistory() {
    return history != null;
  }

  MemoryStatistics statistics() {
    // What only grows is read before what it is taken from.
    long frees = counters.frees();
    long allocations = counters.allocations();
    long freedBytes = counters.freedBytes();
    long allocatedBytes = counters.allocatedBytes();
    long live = counters.live() + arrays.sum(ArrayPoolStatistics::rentedBytes);
    long arrayHits = arrays.sum(ArrayPoolStatistics::hits);
    Spilling spilling = memory.spilling();
    return new MemoryStatistics(
        live,
        pools.idleBytes() + arrays.sum(ArrayPoolStatistics::idleBytes),
        counters.hits() + arrayHits,
        counters.misses() + arrays.sum(ArrayPoolStatistics::rents) - arrayHits,
        allocations - frees,
        counters.peak(live),
        memory.session().pinned().usedBytes(),
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
        System.nanoTime() - bornNanos,
        spilling == null ? 0 : spilling.spilledBytes(),
        spilling == null ? 0 : spilling.spills(),
        spilling == null ? 0 : spilling.returns(),
        counters.lostResults());
  }

  /** Bytes in live buffers. */
  long liveBytes() {
    return counters.live();
  }

  /** Bytes that lie idle in the pools. */
  long pooledBytes() {
    return pools.idleBytes();
  }

  /** Of the largest block among them. */
  long largestIdleBytes() {
    return pools.largestIdleBytes();
  }

  /** Live bytes by tag, largest first; rented arrays are without one. */
  Map<String, Long> bytesByTag() {
    return registry.bytesByTag(arrays.sum(ArrayPoolStatistics::rentedBytes));
  }

  /** Every block of the pools, and every buffer without one. */
  Snapshot snapshot(String reason) {
    return new Survey(memory)
        .take(bornNanos, reason, pools.all().toList(), registry.withoutBlock(), history);
  }

  /** Tells those who record it that an allocation failed for good. Never throws. */
  void exhausted(OutOfDeviceMemoryException failure) {
    Flight.exhausted(
        memory.id(),
        failure.requestedBytes(),
        failure.freeBytes(),
        failure.pooledBytes(),
        counters.live(),
        String.valueOf(failure.getMessage()));
    if (dumps != null && failure.requestedBytes() <= memory.largest()) {
      dumps.write(() -> snapshot(String.valueOf(failure.getMessage())));
    }
  }
}
