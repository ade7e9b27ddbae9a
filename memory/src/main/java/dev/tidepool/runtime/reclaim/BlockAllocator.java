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
 * Where a manager's buffers, their second copies and its transfers get their blocks from: a pool
 * first, then the driver, then the strategies of {@link OutOfMemoryRecovery}. Every block is
 * counted as a hit or a miss. Thread-safe.
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
   * Creates it for one manager.
   *
   * @param exceptions makes the exception when a request fails
   * @param exhausted is told of each request that failed for good
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

  /** Returns the place of the calling thread's NUMA node in them. */
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
   * @throws IllegalArgumentException if that is of another manager
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

  /**
   * Fails for a new buffer if the manager is closed: the thread that closes it waits for this one,
   * which must not wait for memory any more.
   */
  private void checkOpenUnless(boolean inWork) {
    if (!inWork) {
      context.checkOpen();
    }
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
    if (reservation != null) {
      return recover(
          kind,
          bytes,
          inWork,
          reservation,
          () -> takeReserved(kind, bytes, alignment, pooled, placement, reservation, inWork));
    }
    return recover(
        kind,
        bytes,
        inWork,
        () -> {
          checkOpenUnless(inWork);
          return pools.takePlaced(kind, bytes, alignment, pooled, placement);
        });
  }

  /**
   * Takes a block that counts against a reservation. If that was closed meanwhile, a further block
   * of a buffer comes from where those of all others do.
   */
  private PooledBlock takeReserved(
      MemoryPools.Kind kind,
      long bytes,
      long alignment,
      boolean pooled,
      Placement placement,
      DeviceReservation reservation,
      boolean inWork) {
    checkOpenUnless(inWork);
    try {
      return pools.takeReserved(kind, bytes, alignment, pooled, placement, reservation);
    } catch (IllegalStateException e) {
      if (reservation.isOpen()) {
        throw e;
      }
    }
    if (!inWork) {
      throw reservation.closedException();
    }
    return pools.takePlaced(kind, bytes, alignment, pooled, placement);
  }

  /**
   * Frees so many bytes of the device, for a caller that allocates past the pools. The bytes are
   * then free in the driver.
   */
  public void makeDeviceRoom(long bytes) {
    further(take(MemoryPools.Kind.DEVICE, bytes, false, false), context).discard();
  }

  /** For the device's copy of a buffer that was allocated on the host. */
  @Override
  public Lease forDevice(long bytes, Object tenant) {
    DeviceReservation reservation =
        tenant instanceof BufferCore core ? DeviceReservation.openOf(core.allocation()) : null;
    if (reservation != null) {
      MemoryPools.Kind kind = MemoryPools.Kind.DEVICE;
      return further(
          recover(
              kind,
              bytes,
              true,
              reservation,
              () -> takeReserved(kind, bytes, 0, !paranoid, Placement.ANYWHERE, reservation, true)),
          tenant);
    }
    return further(take(MemoryPools.Kind.DEVICE, bytes, !paranoid, true), tenant);
  }

  /**
   * For the host's copy of a buffer that was allocated on the device: page-locked while the budget
   * lasts.
   */
  @Override
  public Lease forHost(long bytes, Object tenant) {
    return further(take(MemoryPools.Kind.STAGING, bytes, !paranoid, true), tenant);
  }

  /** Returns a host block through which a caller copies that must not block. */
  @Override
  public Lease forCaller(long bytes, Object tenant) {
    return further(take(MemoryPools.Kind.STAGING, bytes, !paranoid, false), tenant);
  }

  /** For a buffer that comes back from a file: of the kind it was allocated with. */
  @Override
  public Lease forReturn(long bytes, Allocation allocation, Object tenant) {
    return further(takeAsTold(bytes, allocation, true), tenant);
  }

  /**
   * Memory of the device to measure with.
   *
   * @param recovers whether memory is freed where there is none
   */
  public Lease forMeasuring(long bytes, boolean recovers) {
    return forMeasuring(MemoryPools.Kind.DEVICE, bytes, recovers);
  }

  /** Memory of the host likewise, page-locked or not, which the limit counts. */
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

  /** {@link #forHost} for bytes that the recovery moves to the host, from one of its steps. */
  @Override
  public Lease forHostInRecovery(long bytes, Object tenant) {
    return further(
        recovery.recoverForStrategy(
            bytes, () -> counted(() -> pools.take(MemoryPools.Kind.STAGING, bytes, 0, !paranoid))),
        tenant);
  }

  /**
   * For bytes on their way; fails rather than start a recovery, because one may be under way. The
   * limit refuses none; otherwise nothing could move once it is reached.
   */
  @Override
  public Lease forStaging(long bytes) {
    return forStaging(bytes, true);
  }

  /**
   * Like {@link #forStaging(long)}.
   *
   * @param pinned whether to page-lock it while the budget lasts
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
    return recover(kind, bytes, inWork, () -> pools.take(kind, bytes, 0, pooled));
  }

  private PooledBlock recover(
      MemoryPools.Kind kind, long bytes, boolean inWork, Supplier<PooledBlock> request) {
    return recover(kind, bytes, inWork, null, request);
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

  /** Counts a block that the driver had to be asked for. */
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
