package dev.tidepool.runtime.reclaim;

import dev.tidepool.Allocation;
import dev.tidepool.Capability;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Reservation;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.events.PoolMissEvent;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.storage.BlockSource;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.DeviceReservation;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.runtime.supply.MemoryRefusedException;
import dev.tidepool.spi.Placement;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Allocates the blocks of a manager's buffers, their second copies and its transfers: from a pool,
 * else from the driver, else with the strategies of {@link OutOfMemoryRecovery}. Counts every block
 * as a hit or a miss. Thread-safe.
 */
public final class BlockAllocator implements BlockSource {
  private final StorageContext context;
  private final MemoryPools pools;
  private final AllocationCounters counters;
  // By the ordinal of the location.
  private final MemoryPool[][] poolsByLocation;
  private final OutOfMemoryRecovery recovery;
  private final OutOfMemoryMessages exceptions;
  private final Consumer<OutOfDeviceMemoryException> exhausted;
  private final boolean paranoid;
  private final boolean keeps;

  /**
   * Creates the allocator of one manager.
   *
   * @param exceptions creates the exception of a failed request
   * @param exhausted gets the exception of each request that failed in the end
   */
  public BlockAllocator(
      StorageContext context,
      MemoryPools pools,
      OutOfMemoryRecovery recovery,
      OutOfMemoryMessages exceptions,
      Consumer<OutOfDeviceMemoryException> exhausted) {
    this.context = context;
    this.pools = pools;
    this.counters = context.counters();
    this.recovery = recovery;
    this.exceptions = exceptions;
    this.exhausted = exhausted;
    this.poolsByLocation = pools.poolsByLocation();
    this.paranoid = context.isParanoid();
    this.keeps = context.options().pooling() && !paranoid;
  }

  /** Returns the pools of plain buffers, for each NUMA node, by the ordinal of the location. */
  public MemoryPool[][] poolsByLocation() {
    return poolsByLocation;
  }

  /** Returns the index of the calling thread's NUMA node in {@link #poolsByLocation}. */
  public int placeOfCaller() {
    return pools.placeOfCaller();
  }

  /** Returns true if pools keep the blocks of buffers. */
  public boolean areKept() {
    return keeps;
  }

  private void checkOwn(Reservation reservation) {
    if (!reservation.manager().equals(context.manager())) {
      throw new IllegalArgumentException(
          reservation
              + " is of another manager than the "
              + context.manager()
              + "; allocate with the manager that made it");
    }
    if (!(reservation instanceof DeviceReservation own)) {
      throw new IllegalArgumentException(
          reservation + " was not made by UnifiedMemoryManager.reserve");
    }
    if (!own.isOpen()) {
      throw own.closedException();
    }
  }

  /**
   * Takes the first block of a new buffer. The caller sets the block's tenant.
   *
   * @throws IllegalStateException if the allocation names a reservation that is closed
   * @throws IllegalArgumentException if the reservation is of another manager
   * @throws UnsupportedOperationException if the device has no memory at that location
   */
  @SuppressWarnings("EnumOrdinal") // the index of poolsByLocation
  public PooledBlock forBuffer(long bytes, Allocation allocation) {
    allocation.reservation().ifPresent(this::checkOwn);
    if (keeps && allocation.isPlain()) {
      MemoryPool[] near = poolsByLocation[placeOfCaller()];
      PooledBlock block = near[allocation.location().ordinal()].takeIdle(bytes);
      if (block != null) {
        return block;
      }
    }
    return takeAsTold(bytes, allocation, false);
  }

  private PooledBlock takeAsTold(long bytes, Allocation allocation, boolean inWork) {
    MemoryLocation location = allocation.location();
    if (location == MemoryLocation.UNIFIED
        && !context.device().info().can(Capability.SHARED_MEMORY)
        && !context.device().info().can(Capability.UNIFIED_MEMORY)) {
      throw new UnsupportedOperationException(
          context.accelerator().id()
              + " has no memory that host and device both address; use DEVICE"
              + (context.options().managedMemory() ? "" : ", or set managed-memory to true"));
    }
    MemoryPools.Kind kind = pools.kindOf(location);
    long alignment = allocation.alignment();
    boolean pooled = allocation.isPooled() && !paranoid;
    Placement placement = Placement.of(allocation);
    DeviceReservation reservation = kind.isOfDevice() ? DeviceReservation.openOf(allocation) : null;
    return recover(
        kind,
        bytes,
        inWork,
        reservation,
        () -> takeCharged(kind, bytes, alignment, pooled, placement, reservation, inWork));
  }

  /**
   * Takes a block that is charged to a reservation, if there is one. If the reservation was closed
   * meanwhile, a further block of a buffer comes from the usual pools.
   */
  private PooledBlock takeCharged(
      MemoryPools.Kind kind,
      long bytes,
      long alignment,
      boolean pooled,
      Placement placement,
      @Nullable DeviceReservation reservation,
      boolean inWork) {
    if (!inWork) {
      // The closing thread waits for this one, which must not wait for memory any more.
      context.checkOpen();
    }
    if (reservation != null) {
      try {
        return pools.takeReserved(kind, bytes, alignment, pooled, placement, reservation);
      } catch (IllegalStateException e) {
        if (reservation.isOpen()) {
          throw e;
        }
        if (!inWork) {
          throw reservation.closedException();
        }
      }
    }
    return pools.takePlaced(kind, bytes, alignment, pooled, placement);
  }

  /** Frees bytes of the device in the driver, for a caller that allocates without the pools. */
  public void makeDeviceRoom(long bytes) {
    further(take(MemoryPools.Kind.DEVICE, bytes, false, false), context).discard();
  }

  @Override
  public Lease forDevice(long bytes, Object tenant) {
    DeviceReservation reservation =
        tenant instanceof BufferCore core ? DeviceReservation.openOf(core.allocation()) : null;
    MemoryPools.Kind kind = MemoryPools.Kind.DEVICE;
    return further(
        recover(
            kind,
            bytes,
            true,
            reservation,
            () -> takeCharged(kind, bytes, 0, !paranoid, Placement.ANYWHERE, reservation, true)),
        tenant);
  }

  @Override
  public Lease forHost(long bytes, Object tenant) {
    return further(take(MemoryPools.Kind.STAGING, bytes, !paranoid, true), tenant);
  }

  @Override
  public Lease forCaller(long bytes, Object tenant) {
    return further(take(MemoryPools.Kind.STAGING, bytes, !paranoid, false), tenant);
  }

  @Override
  public Lease forReturn(long bytes, Allocation allocation, Object tenant) {
    return further(takeAsTold(bytes, allocation, true), tenant);
  }

  /**
   * Returns device memory for a measurement.
   *
   * @param recovers whether to free memory if necessary
   */
  public Lease forMeasuring(long bytes, boolean recovers) {
    return forMeasuring(MemoryPools.Kind.DEVICE, bytes, recovers);
  }

  /** Returns host memory for a measurement, page-locked or not. The limit counts it. */
  public Lease forMeasuring(long bytes, boolean pinned, boolean recovers) {
    return forMeasuring(pinned ? MemoryPools.Kind.STAGING : MemoryPools.Kind.HOST, bytes, recovers);
  }

  private Lease forMeasuring(MemoryPools.Kind kind, long bytes, boolean recovers) {
    PooledBlock block =
        recovers
            ? take(kind, bytes, !paranoid, false)
            : counted(() -> pools.take(kind, bytes, 0, !paranoid));
    return further(block, context);
  }

  /** Like {@link #forHost}, for bytes that a strategy of the recovery moves to the host. */
  @Override
  public Lease forHostInRecovery(long bytes, Object tenant) {
    return further(
        recovery.recoverForStrategy(
            bytes, () -> counted(() -> pools.take(MemoryPools.Kind.STAGING, bytes, 0, !paranoid))),
        tenant);
  }

  /**
   * Returns a staging block. Fails instead of starting a recovery, because one may be in progress.
   * The limit does not apply; otherwise no byte could move once it is reached.
   */
  @Override
  public Lease forStaging(long bytes) {
    return forStaging(bytes, true);
  }

  /**
   * Like {@link #forStaging(long)}.
   *
   * @param pinned whether the block is page-locked while the budget lasts
   */
  public Lease forStaging(long bytes, boolean pinned) {
    MemoryPools.Kind kind = pinned ? MemoryPools.Kind.STAGING : MemoryPools.Kind.HOST;
    return further(counted(() -> takeForStaging(kind, bytes)), context);
  }

  private PooledBlock takeForStaging(MemoryPools.Kind kind, long bytes) {
    try {
      return pools.take(kind, bytes, 0, true);
    } catch (OutOfDeviceMemoryException e) {
      if (MemoryRefusedException.isBy(MemoryRefusedException.Source.LIMIT, e)) {
        return pools.takeInTransit(bytes);
      }
      throw e;
    }
  }

  private Lease further(PooledBlock block, Object tenant) {
    Lease lease = Lease.over(block);
    counters.took();
    block.occupy(tenant);
    return lease;
  }

  private PooledBlock take(MemoryPools.Kind kind, long bytes, boolean pooled, boolean inWork) {
    return recover(kind, bytes, inWork, null, () -> pools.take(kind, bytes, 0, pooled));
  }

  private PooledBlock recover(
      MemoryPools.Kind kind,
      long bytes,
      boolean inWork,
      @Nullable DeviceReservation reservation,
      Supplier<PooledBlock> request) {
    boolean onDevice = kind == MemoryPools.Kind.DEVICE || kind == MemoryPools.Kind.UNIFIED;
    try {
      if (onDevice && bytes > pools.largest(kind)) {
        throw exceptions.tooLarge(bytes, kind, pools.largest(kind));
      }
      return recovery.recover(bytes, onDevice, inWork, reservation, () -> counted(request));
    } catch (OutOfDeviceMemoryException refused) {
      exhausted.accept(refused);
      throw refused;
    }
  }

  /** Counts a block that no pool had as a miss. */
  private PooledBlock counted(Supplier<PooledBlock> request) {
    PoolMissEvent event = FlightEvents.poolMiss();
    PooledBlock block = request.get();
    if (block.isFresh()) {
      counters.missed();
      if (event != null) {
        commit(event, block);
      }
    }
    return block;
  }

  private void commit(PoolMissEvent event, PooledBlock block) {
    try {
      event.missed(context.id(), block.pool().name(), block.bytes());
    } catch (Throwable e) {
      // The heap may be full. The caller gets no block.
      block.giveBack();
      throw e;
    }
  }
}
