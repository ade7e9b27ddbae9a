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
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The pools of one manager, one for each kind of memory. Plain memory of the host comes from {@link
 * HostPools} that managers share.
 */
public final class MemoryPools implements AutoCloseable {
  /** What a block is made of. */
  public enum Kind {
    DEVICE,
    UNIFIED,
    HOST,
    /** What users ask for as PINNED. */
    PINNED,
    /** Bytes of a transfer: always reachable by the host, page-locked where that is available. */
    STAGING;

    /** Returns whether the device gives it, and not the host. */
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

  // For blocks that are told where to lie: made when first asked for.
  private final Map<Placed, MemoryPool> placed = new ConcurrentHashMap<>();

  // For blocks that count against a reservation: until it is closed and they are freed.
  private final Map<Reserved, MemoryPool> reserved = new ConcurrentHashMap<>();

  private volatile boolean closed;

  /**
   * Creates the pools for a device.
   *
   * @param shared blocks of plain host memory, for several managers and outliving them; null to
   *     have an own pool of them
   * @param limit what all of them together may hold; null for as much as there is
   * @param reservations what is reserved of the device's memory
   * @param hostReservations what is reserved of the host's
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

  /**
   * Returns what lies idle of page-locked memory, without the plain blocks that stand in for some.
   */
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

  /** An alignment that such blocks do not have anyway; else 1. */
  private long beyondUsual(Kind kind, long bytes, long alignment) {
    return alignment <= factory.usualAlignment(kind, bytes) ? 1 : alignment;
  }

  /**
   * Takes a block that lies where it is told to, if it is told. Page-locked ones of a node have a
   * pool, because the driver takes long to make them; others that are told are not kept.
   */
  public PooledBlock takePlaced(
      Kind kind, long bytes, long alignment, boolean pooled, Placement placement) {
    if (placement.isAnywhere()) {
      return take(kind, bytes, alignment, pooled);
    }
    // Refuses a node that does not exist, whatever the kind, before it gets a pool.
    var _ = HostRequest.of(bytes).placed(placement);
    boolean kept = kind == Kind.PINNED && placement.isOnlyNode();
    if (kept && placement.node().equals(device.numaNode())) {
      return take(kind, bytes, alignment, pooled);
    }
    MemoryPool pool =
        placed.computeIfAbsent(
            new Placed(kind, placement), _ -> owned(factory.placedPool(kind, placement, kept)));
    if (closed) {
      // The manager ended meanwhile: what comes back is not kept.
      pool.close();
    }
    return kept
        ? pool.take(Math.max(1, bytes), beyondUsual(kind, bytes, alignment), pooled)
        : pool.take(Math.max(1, bytes), Math.max(1, alignment), false);
  }

  /**
   * Takes a block of the device that counts against a reservation.
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
        Math.max(1, bytes),
        Math.max(1, beyondUsual(kind, bytes, alignment)),
        pooled && placement.isAnywhere());
  }

  private MemoryPool reservedPool(Reserved key) {
    DeviceReservation reservation = key.reservation();
    MemoryPool pool = owned(factory.reservedPool(key.kind(), key.placement(), reservation));
    reservation.owns(pool);
    return pool;
  }

  /** Forgets the pools of reservations that have ended. */
  public void forgetEnded() {
    reserved
        .entrySet()
        .removeIf(
            entry -> {
              boolean ended = entry.getKey().reservation().hasEnded();
              if (ended) {
                own.remove(entry.getValue());
              }
              return ended;
            });
  }

  /**
   * Takes a block that the limit does not count, for bytes that are on their way: at the limit they
   * must still get where memory is freed. Not kept.
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

  /** Returns the pools of a kind: one, or one for each node. */
  private Stream<MemoryPool> everyPool(Kind kind) {
    MemoryPool pool = pool(kind);
    return pool.equals(hosts.first()) ? hosts.all().stream() : Stream.of(pool);
  }

  /** Returns the first kind of buffers at a location. */
  public Kind kindOf(MemoryLocation location) {
    boolean shared = device.info().can(Capability.SHARED_MEMORY);
    return switch (location) {
      case DEVICE -> Kind.DEVICE;
      case UNIFIED -> shared ? Kind.DEVICE : Kind.UNIFIED;
      case HOST -> shared ? Kind.DEVICE : Kind.HOST;
      case PINNED -> Kind.PINNED;
    };
  }

  /**
   * Returns the pools that buffers are allocated from: for each NUMA node, by their location's
   * ordinal.
   */
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

  /** Returns the place of the calling thread's NUMA node in {@link #poolsByLocation}. */
  public int placeOfCaller() {
    return hosts.placeOfCaller();
  }

  /** Returns how often plain memory took the place of page-locked memory. */
  public long fallbacks() {
    return factory.fallbacks();
  }

  /** Bytes of the largest block of a kind that lies on the device. */
  public long largest(Kind kind) {
    return factory.largest(kind);
  }

  /**
   * Page-locks memory of the caller where it lies, and keeps its arena open.
   *
   * @return what ends both and throws nothing; null if it cannot be locked
   */
  public @Nullable Runnable lock(MemorySegment memory) {
    return factory.lock(memory);
  }

  /** Frees blocks that found no room when they came back. */
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

  /** Trims what lies in the host's memory, or what lies in the device's own. */
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

  /** Returns what each pool has and has done, the shared one included. */
  public List<PoolStatistics> statistics() {
    return all().map(MemoryPool::statistics).toList();
  }

  public long idleBytes() {
    return sum(MemoryPool::idleBytes);
  }

  public long largestIdleBytes() {
    return all().mapToLong(MemoryPool::largestIdleBytes).max().orElse(0);
  }

  /** Bytes that the driver and the system have given and not got back. */
  public long reservedBytes() {
    return sum(MemoryPool::reservedBytes);
  }

  /** Moves what lies in pools of the device's memory together; how many bytes went back. */
  public long compactDevice(BlockMover mover) {
    return lent().mapToLong(pool -> pool.compact(mover)).sum();
  }

  public long idleDeviceBytes() {
    return lent().mapToLong(MemoryPool::idleBytes).sum();
  }

  /**
   * Returns how many of the idle bytes cannot go back, because others of their slabs are in use.
   */
  public long boundDeviceBytes() {
    return lent().mapToLong(MemoryPool::boundBytes).sum();
  }

  /** Returns what pools of the device's memory hold of the driver. */
  public long reservedDeviceBytes() {
    return lent().mapToLong(MemoryPool::reservedBytes).sum();
  }

  private Stream<MemoryPool> lent() {
    return Stream.concat(
        Stream.of(Kind.DEVICE, Kind.UNIFIED).flatMap(this::everyPool).distinct(),
        reserved.values().stream());
  }

  /** The sum of what each pool has held at most. */
  public long peakReservedBytes() {
    return sum(MemoryPool::peakReservedBytes);
  }

  /**
   * Returns a figure of all pools; once this manager is closed, the shared pool is no longer
   * counted.
   */
  private long sum(ToLongFunction<MemoryPool> figure) {
    return (closed ? own.stream() : all()).mapToLong(figure).sum();
  }

  /** This manager's own pools, and the one that it shares. */
  public Stream<MemoryPool> all() {
    return Stream.concat(own.stream(), shared == null ? Stream.empty() : shared.all().stream());
  }

  /** Shows the blocks that are taken, by other managers too where pools are shared. */
  public void forEachTaken(Consumer<PooledBlock> action) {
    all().forEach(pool -> pool.forEachTaken(action));
  }

  /**
   * Returns whether a thread has just taken a block that has no visible owner yet, or gives one
   * back, or waits for a driver or the system to allocate or free one: such memory belongs to
   * neither a pool nor a buffer.
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
   * Waits until each block of the shared pool that is on its way right now has arrived. A thread
   * that takes one later sees what the caller did before. Own pools need no such care, because
   * their blocks count as {@linkplain #isInUse in use} without a tenant too.
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

  /** Waits until every block of this manager's own pools, which are closed, has come back. */
  public void awaitReturned() {
    for (int tries = 0; isInUse(tenant -> false); tries++) {
      ShortWait.pause(tries);
    }
  }

  /**
   * Returns whether a block of this manager's own pools is taken by anything but what {@code
   * spared} says.
   */
  public boolean isInUse(Predicate<@Nullable Object> spared) {
    boolean[] found = new boolean[1];
    for (MemoryPool pool : own) {
      // Before, for a block that is enrolled only now; and after, for one that is being freed.
      found[0] |= pool.isBusy();
      pool.forEachTaken(block -> found[0] |= !spared.test(block.tenant()));
      found[0] |= pool.isBusy();
    }
    return found[0];
  }

  /** Ends this manager's own pools. */
  @Override
  public void close() {
    closed = true;
    own.forEach(MemoryPool::close);
  }
}
