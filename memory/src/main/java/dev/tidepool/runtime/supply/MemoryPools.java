package dev.tidepool.runtime.supply;

import dev.tidepool.Capability;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.pool.ShortWait;
import dev.tidepool.pool.block.BlockMover;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.pool.block.ReclaimHandle;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.events.TrimEvent;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Placement;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The pools of one manager, one for each kind of memory. Plain host memory comes from {@link
 * HostPools}, which managers may share.
 */
public final class MemoryPools implements AutoCloseable {
  /** The kinds of memory of a block. */
  public enum Kind {
    DEVICE,
    UNIFIED,
    HOST,
    /** Memory that users request as PINNED. */
    PINNED,
    /** Staging memory of transfers: always accessible to the host, page-locked if available. */
    STAGING;

    /** Returns whether the device allocates it, and not the host. */
    public boolean isOfDevice() {
      return this == DEVICE || this == UNIFIED;
    }
  }

  private record Placed(Kind kind, Placement placement) {}

  private record Reserved(Kind kind, Placement placement, DeviceReservation reservation) {}

  private final Device device;
  private final PoolFactory factory;
  private final @Nullable HostPools shared;
  private final HostPools hosts;
  private final MemoryPool transit;
  private final Map<Kind, MemoryPool> pools = new EnumMap<>(Kind.class);
  private final List<MemoryPool> own = new CopyOnWriteArrayList<>();

  // Pools of blocks with a placement, created on demand.
  private final Map<Placed, MemoryPool> placed = new ConcurrentHashMap<>();

  // Pools of blocks of reservations, until the reservation is closed and they are freed.
  private final Map<Reserved, MemoryPool> reserved = new ConcurrentHashMap<>();

  private final AtomicLong peakReserved = new AtomicLong();

  private volatile boolean closed;

  /**
   * Creates the pools for a device.
   *
   * @param shared the pools of plain host memory that several managers share; null for own pools
   * @param limit the maximum of all pools together; null for none
   * @param reservations the reservations of the device's memory
   * @param hostReservations the reservations of the host's memory
   */
  public MemoryPools(
      Device device,
      @Nullable HostPools shared,
      @Nullable MemoryLimit limit,
      ReservationLedger reservations,
      ReservationLedger hostReservations,
      MemoryAllocator allocator,
      SessionResources resources,
      PinnedReclaimer pinned,
      MemoryOptions options) {
    this.device = device;
    this.shared = shared;
    this.factory =
        new PoolFactory(device, limit, reservations, allocator, resources, pinned, options);
    this.hosts =
        shared != null
            ? shared
            : PoolFactory.hostPools(allocator, resources, hostReservations, limit, options);
    if (shared == null) {
      own.addAll(hosts.all());
    }
    this.transit = owned(factory.transitPool());
    for (Kind kind : Kind.values()) {
      pools.put(kind, isPlainHostMemory(kind) ? hosts.first() : owned(factory.pool(kind)));
    }
  }

  private MemoryPool owned(MemoryPool pool) {
    own.add(pool);
    return pool;
  }

  private boolean isPlainHostMemory(Kind kind) {
    return switch (kind) {
      case HOST -> true;
      case DEVICE, UNIFIED -> device instanceof CpuDevice;
      case PINNED -> false;
      case STAGING -> !factory.locksPages();
    };
  }

  /** Returns the idle page-locked blocks, without plain blocks that replace such blocks. */
  public Stream<ReclaimHandle> idlePinned() {
    return device.info().can(Capability.PINNED_MEMORY)
        ? ofKinds(kind -> kind == Kind.PINNED || kind == Kind.STAGING)
            .flatMap(pool -> pool.idlePieces(factory::isLocked).stream())
        : Stream.empty();
  }

  /** Takes a block; see {@link MemoryPool#take}. */
  public PooledBlock take(Kind kind, long bytes, long alignment, boolean pooled) {
    long further = beyondUsual(kind, bytes, alignment);
    try {
      return poolHere(kind).take(Math.max(1, bytes), further, pooled);
    } catch (PoolFactory.NothingLocked e) {
      PooledBlock plain = hosts.here().take(Math.max(1, bytes), further, pooled);
      factory.fellBack();
      return plain;
    }
  }

  /** Returns the alignment if it exceeds the usual one; else 1. */
  private long beyondUsual(Kind kind, long bytes, long alignment) {
    return alignment <= factory.usualAlignment(kind, bytes) ? 1 : alignment;
  }

  /**
   * Takes a block with a placement, if there is one. Page-locked blocks of a node are pooled,
   * because the driver takes long to allocate them; other placed blocks are not kept.
   */
  public PooledBlock takePlaced(
      Kind kind, long bytes, long alignment, boolean pooled, Placement placement) {
    if (placement.isAnywhere()) {
      return take(kind, bytes, alignment, pooled);
    }
    // Rejects a missing node, for each kind, before a pool is created.
    var _ = HostRequest.of(bytes).placed(placement);
    boolean kept = kind == Kind.PINNED && placement.isOnlyNode();
    if (kept && placement.node().equals(device.numaNode())) {
      return take(kind, bytes, alignment, pooled);
    }
    MemoryPool pool =
        placed.computeIfAbsent(
            new Placed(kind, placement), _ -> owned(factory.placedPool(kind, placement, kept)));
    if (closed) {
      // The manager closed meanwhile: returned blocks are not kept.
      pool.close();
    }
    return kept
        ? pool.take(Math.max(1, bytes), beyondUsual(kind, bytes, alignment), pooled)
        : pool.take(Math.max(1, bytes), Math.max(1, alignment), false);
  }

  /**
   * Takes a block of the device that is charged to a reservation.
   *
   * @throws IllegalStateException if the reservation is closed
   */
  public PooledBlock takeReserved(
      Kind kind,
      long bytes,
      long alignment,
      boolean pooled,
      Placement placement,
      DeviceReservation reservation) {
    MemoryPool pool =
        reserved.computeIfAbsent(
            new Reserved(kind, placement, reservation), MemoryPools.this::reservedPool);
    if (closed) {
      pool.close();
    }
    return pool.take(
        Math.max(1, bytes), beyondUsual(kind, bytes, alignment), pooled && placement.isAnywhere());
  }

  private MemoryPool reservedPool(Reserved key) {
    DeviceReservation reservation = key.reservation();
    MemoryPool pool = owned(factory.reservedPool(key.kind(), key.placement(), reservation));
    reservation.owns(pool);
    return pool;
  }

  /** Removes the pools of reservations that have ended. */
  public void forgetEnded() {
    reserved
        .entrySet()
        .removeIf(
            entry -> {
              boolean ended = entry.getKey().reservation().hasEnded();
              if (ended) {
                var _ = peakReservedBytes();
                own.remove(entry.getValue());
              }
              return ended;
            });
  }

  /**
   * Takes a staging block that the limit does not count, because transfers that free memory must
   * succeed at the limit too. Not kept.
   */
  public PooledBlock takeInTransit(long bytes) {
    return transit.take(Math.max(1, bytes), 1, false);
  }

  private MemoryPool pool(Kind kind) {
    return Objects.requireNonNull(pools.get(kind), "every kind has its pool");
  }

  /** Returns the pool of a kind for the calling thread. */
  private MemoryPool poolHere(Kind kind) {
    MemoryPool pool = pool(kind);
    return pool.equals(hosts.first()) ? hosts.here() : pool;
  }

  /** Returns the pools of a kind: a single one, or one for each node. */
  private Stream<MemoryPool> everyPool(Kind kind) {
    MemoryPool pool = pool(kind);
    return pool.equals(hosts.first()) ? hosts.all().stream() : Stream.of(pool);
  }

  /** Returns the kind of a buffer's first block at a location. */
  public Kind kindOf(MemoryLocation location) {
    boolean shared = device.info().can(Capability.SHARED_MEMORY);
    return switch (location) {
      case DEVICE -> Kind.DEVICE;
      case UNIFIED -> shared ? Kind.DEVICE : Kind.UNIFIED;
      case HOST -> shared ? Kind.DEVICE : Kind.HOST;
      case PINNED -> Kind.PINNED;
    };
  }

  /** Returns the pools of new buffers, for each NUMA node by the ordinal of the location. */
  public MemoryPool[][] poolsByLocation() {
    return hosts.all().stream()
        .map(
            ofNode ->
                Arrays.stream(MemoryLocation.values())
                    .map(location -> pool(kindOf(location)))
                    .map(pool -> pool.equals(hosts.first()) ? ofNode : pool)
                    .toArray(MemoryPool[]::new))
        .toArray(MemoryPool[][]::new);
  }

  /** Returns the index of the calling thread's NUMA node in {@link #poolsByLocation}. */
  public int placeOfCaller() {
    return hosts.placeOfCaller();
  }

  /** Returns how often plain memory replaced page-locked memory. */
  public long fallbacks() {
    return factory.fallbacks();
  }

  /** Returns the maximum bytes of a block of a kind of device memory. */
  public long largest(Kind kind) {
    return factory.largest(kind);
  }

  /**
   * Page-locks memory of the caller in place, and keeps its arena open.
   *
   * @return undoes both and throws nothing; null if the memory cannot be locked
   */
  public @Nullable Runnable lock(MemorySegment memory) {
    return factory.lock(memory);
  }

  /** Frees returned blocks that their pools had no room for. */
  public void drain() {
    all().forEach(MemoryPool::drain);
  }

  public long trim() {
    return trim("request", all(), MemoryPool::trim);
  }

  private long trim(String cause, Stream<MemoryPool> some, ToLongFunction<MemoryPool> trimming) {
    TrimEvent event = FlightEvents.trim();
    long bytes = some.mapToLong(trimming).sum();
    if (event != null) {
      event.trimmed(device.info().id(), cause, bytes);
    }
    return bytes;
  }

  /** Trims the pools of host memory, or those of the device's own memory. */
  public void trim(boolean onHost) {
    boolean shared = device.info().can(Capability.SHARED_MEMORY);
    Predicate<Kind> there = kind -> (shared || !kind.isOfDevice()) == onHost;
    trim("shortage", ofKinds(there), MemoryPool::trim);
  }

  /** Trims the pools of the device's memory. */
  public void trimDevice() {
    trim("suspend", lent(), MemoryPool::trim);
  }

  private Stream<MemoryPool> ofKinds(Predicate<Kind> wanted) {
    return Stream.concat(
        pools.keySet().stream().filter(wanted).flatMap(this::everyPool),
        placed.entrySet().stream()
            .filter(entry -> wanted.test(entry.getKey().kind()))
            .map(Map.Entry::getValue));
  }

  public void trimIdleSince(long nanoTime) {
    trim("age", all(), pool -> pool.trimIdleSince(nanoTime));
  }

  /** Returns the statistics of each pool, including shared ones. */
  public List<PoolStatistics> statistics() {
    return all().map(MemoryPool::statistics).toList();
  }

  public long idleBytes() {
    return sum(MemoryPool::idleBytes);
  }

  public long largestIdleBytes() {
    return all().mapToLong(MemoryPool::largestIdleBytes).max().orElse(0);
  }

  /** Returns the bytes that the driver and the system have allocated and not freed. */
  public long reservedBytes() {
    return sum(MemoryPool::reservedBytes);
  }

  /** Compacts the pools of the device's memory; returns the bytes that were freed. */
  public long compactDevice(BlockMover mover) {
    return lent().mapToLong(pool -> pool.compact(mover)).sum();
  }

  public long idleDeviceBytes() {
    return lent().mapToLong(MemoryPool::idleBytes).sum();
  }

  /**
   * Returns the idle bytes that cannot be freed, because other blocks of their slabs are in use.
   */
  public long boundDeviceBytes() {
    return lent().mapToLong(MemoryPool::boundBytes).sum();
  }

  /** Returns the bytes that the driver has allocated for the pools of the device's memory. */
  public long reservedDeviceBytes() {
    return lent().mapToLong(MemoryPool::reservedBytes).sum();
  }

  private Stream<MemoryPool> lent() {
    return Stream.concat(
        Stream.of(Kind.DEVICE, Kind.UNIFIED).flatMap(this::everyPool).distinct(),
        reserved.values().stream());
  }

  /** Returns the largest sum so far of the peaks of all pools that existed together. */
  public long peakReservedBytes() {
    return peakReserved.accumulateAndGet(sum(MemoryPool::peakReservedBytes), Math::max);
  }

  /** Returns the sum of a figure over all pools; after the close, only over own pools. */
  private long sum(ToLongFunction<MemoryPool> figure) {
    return (closed ? own.stream() : all()).mapToLong(figure).sum();
  }

  /** Returns this manager's own pools and the shared ones. */
  public Stream<MemoryPool> all() {
    return Stream.concat(own.stream(), shared == null ? Stream.empty() : shared.all().stream());
  }

  /** Visits the blocks in use; in shared pools, also those of other managers. */
  public void forEachTaken(Consumer<PooledBlock> action) {
    all().forEach(pool -> pool.forEachTaken(action));
  }

  /**
   * Returns whether a thread has taken a block that has no visible owner yet, or returns a block,
   * or waits for its allocation or release. Neither a pool nor a buffer counts this memory.
   */
  public boolean anyInTransition() {
    boolean[] any = new boolean[1];
    all()
        .forEach(
            pool -> {
              any[0] |= pool.isBusy();
              pool.forEachTaken(block -> any[0] |= block.isInTransition());
            });
    return any[0];
  }

  /**
   * Waits for each block of the shared pools that is in transition now. A thread that takes a block
   * later sees the caller's earlier writes. Own pools need no wait: their blocks count as
   * {@linkplain #isInUse in use} even without a tenant.
   */
  public void awaitTenants() {
    if (shared == null) {
      return;
    }
    List<PooledBlock> arriving = new ArrayList<>();
    for (MemoryPool pool : shared.all()) {
      pool.forEachTaken(
          block -> {
            if (block.isInTransition()) {
              arriving.add(block);
            }
          });
    }
    for (PooledBlock block : arriving) {
      for (int tries = 0; block.isInTransition(); tries++) {
        ShortWait.pause(tries);
      }
    }
  }

  /** Waits until every block has been returned to this manager's own pools, which are closed. */
  public void awaitReturned() {
    for (int tries = 0; isInUse(tenant -> false); tries++) {
      ShortWait.pause(tries);
    }
  }

  /**
   * Returns whether a block of this manager's own pools is in use by a tenant that {@code spared}
   * does not accept.
   */
  public boolean isInUse(Predicate<@Nullable Object> spared) {
    boolean[] found = new boolean[1];
    for (MemoryPool pool : own) {
      // Before, for a block that is being added; and after, for one that is being freed.
      found[0] |= pool.isBusy();
      pool.forEachTaken(block -> found[0] |= !spared.test(block.tenant()));
      found[0] |= pool.isBusy();
    }
    return found[0];
  }

  /** Closes this manager's own pools. */
  @Override
  public void close() {
    closed = true;
    own.forEach(MemoryPool::close);
  }
}
