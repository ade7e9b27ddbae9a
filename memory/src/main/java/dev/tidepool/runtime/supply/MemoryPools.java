package dev.tidepool.runtime.supply;

import dev.tidepool.Capability;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.host.HostMemory;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.ThreadNumaPolicy;
import dev.tidepool.pool.ShortWait;
import dev.tidepool.pool.block.BlockMover;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PoolLimits;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.pool.block.ReclaimHandle;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.events.TrimEvent;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Placement;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The pools of one manager, one for each kind of memory. Plain memory of the host comes from {@link
 * HostPools} that managers share.
 */
public final class MemoryPools implements AutoCloseable {
  private static final long LARGEST_POOL = 4L << 30;

  /** What a block is made of. */
  public enum Kind {
    DEVICE,
    UNIFIED,
    HOST,
    /** What users ask for as PINNED. */
    PINNED,
    /** Bytes of a transfer: always reachable by the host, page-locked where that is available. */
    STAGING;

    /** Whether the device gives it, and not the host. */
    public boolean isOfDevice() {
      return this == DEVICE || this == UNIFIED;
    }
  }

  private static final PoolLimits NOTHING_KEPT =
      new PoolLimits(false, 0, 0, 0, EvictionPolicy.LRU, false);

  private record Placed(Kind kind, Placement placement) {}

  private record Reserved(Kind kind, Placement placement, DeviceReservation reservation) {}

  private final Device device;
  private final MemoryAllocator allocator;
  private final SessionResources resources;
  private final PinnedReclaimer pinned;
  // One object, which tells the blocks that count there from all others.
  private final LongConsumer unlocked;
  private final @Nullable MemoryLimit limit;
  private final ReservationLedger reservations;
  private final MemoryOptions options;
  private final @Nullable HostPools shared;
  private final HostPools hosts;
  private final MemoryPool transit;
  private final Map<Kind, MemoryPool> pools = new EnumMap<>(Kind.class);
  private final List<MemoryPool> own = new CopyOnWriteArrayList<>();

  // For blocks that are told where to lie: made when first asked for.
  private final Map<Placed, MemoryPool> placed = new ConcurrentHashMap<>();

  // For blocks that count against a reservation: until it is closed and they are freed.
  private final Map<Reserved, MemoryPool> reserved = new ConcurrentHashMap<>();

  private final LongAdder fallbacks = new LongAdder();
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
    this.limit = limit;
    this.reservations = reservations;
    this.hosts =
        shared != null ? shared : hostPools(allocator, resources, hostReservations, limit, options);
    if (shared == null) {
      own.addAll(hosts.all());
    }
    this.allocator = allocator;
    this.resources = resources;
    this.pinned = pinned;
    this.unlocked = pinned::giveBack;
    this.transit =
        new MemoryPool(
            "bytes on their way",
            (bytes, alignment) -> resources.opened(allocator.allocate(bytes, alignment)),
            MemoryAllocator.SMALL_ALIGNMENT,
            NOTHING_KEPT);
    own.add(transit);
    this.options = options;
    for (Kind kind : Kind.values()) {
      pools.put(kind, isPlainHostMemory(kind) ? hosts.first() : ownPool(kind, options));
    }
  }

  /** The pools of plain host memory for all managers with these options. */
  public static HostPools hostPools(
      MemoryAllocator allocator,
      SessionResources resources,
      ReservationLedger reservations,
      MemoryOptions options) {
    return hostPools(allocator, resources, reservations, null, options);
  }

  private static HostPools hostPools(
      MemoryAllocator allocator,
      SessionResources resources,
      ReservationLedger reservations,
      @Nullable MemoryLimit limit,
      MemoryOptions options) {
    NodeMemory machine = NodeMemory.current();
    PoolLimits limits = limits(options, HostMemory.now().totalBytes());
    Function<MemoryPool.Source, MemoryPool.Source> within =
        source -> guarded(options, within(limit, reservations.over(source)), Long.MAX_VALUE);
    return HostPools.of(
        machine,
        node ->
            new MemoryPool(
                "host memory of node " + node,
                within.apply(
                    (bytes, alignment) ->
                        resources.opened(
                            machine.allocate(allocator, hostRequest(bytes, alignment), node))),
                MemoryAllocator.SMALL_ALIGNMENT,
                limits),
        _ ->
            new MemoryPool(
                "host memory",
                within.apply(
                    (bytes, alignment) ->
                        resources.opened(allocator.allocate(hostRequest(bytes, alignment)))),
                MemoryAllocator.SMALL_ALIGNMENT,
                limits));
  }

  private static HostRequest hostRequest(long bytes, long alignment) {
    return HostRequest.of(bytes)
        .aligned(Math.max(alignment, MemoryAllocator.defaultAlignment(bytes)));
  }

  private static MemoryPool.Source within(@Nullable MemoryLimit limit, MemoryPool.Source source) {
    return limit == null ? source : limit.over(source);
  }

  /** A source as it is, or with guard zones at the paranoid level. */
  private static MemoryPool.Source guarded(
      MemoryOptions options, MemoryPool.Source source, long largest) {
    return options.diagnostics() == DiagnosticsLevel.PARANOID
        ? new GuardedSource(source, largest)
        : source;
  }

  private boolean isPlainHostMemory(Kind kind) {
    return switch (kind) {
      case HOST -> true;
      case DEVICE, UNIFIED -> device instanceof CpuDevice;
      case PINNED -> false;
      case STAGING -> !locksPages();
    };
  }

  private boolean locksPages() {
    return options.pinnedMemory() && device.info().can(Capability.PINNED_MEMORY);
  }

  private MemoryPool ownPool(Kind kind, MemoryOptions options) {
    long totalBytes = (kind.isOfDevice() ? device.memory() : HostMemory.now()).totalBytes();
    return ownPool(
        kind,
        Placement.ANYWHERE,
        kind.isOfDevice() ? limits(options, totalBytes) : pinnedLimits(options, totalBytes));
  }

  private MemoryPool ownPool(Kind kind, Placement placement, PoolLimits limits) {
    long largest = kind.isOfDevice() ? largest(kind) : Long.MAX_VALUE;
    MemoryPool pool =
        new MemoryPool(
            device.info().id() + " " + kind,
            guarded(
                options,
                within(
                    limit,
                    kind.isOfDevice()
                        ? reservations.over(source(kind, placement))
                        : source(kind, placement)),
                largest),
            MemoryAllocator.SMALL_ALIGNMENT,
            largest,
            limits);
    own.add(pool);
    return pool;
  }

  private MemoryPool.Source source(Kind kind, Placement placement) {
    return (bytes, alignment) ->
        allocate(kind, bytes, Math.max(alignment, usualAlignment(kind, bytes)), placement);
  }

  /** Bytes of the largest block of a kind that lies on the device. */
  public long largest(Kind kind) {
    return device.largestBlock(kind == Kind.UNIFIED ? BlockKind.UNIFIED : BlockKind.DEVICE);
  }

  private static PoolLimits limits(MemoryOptions options, long totalBytes) {
    return limitsOf(
        options,
        options.maxPoolBytes() == -1
            ? Math.min(totalBytes / 4, LARGEST_POOL)
            : options.maxPoolBytes());
  }

  /** Returns the limits of a pool of page-locked memory. */
  private static PoolLimits pinnedLimits(MemoryOptions options, long totalBytes) {
    return options.pinnedPoolBytes() == -1
        ? limits(options, totalBytes)
        : limitsOf(options, options.pinnedPoolBytes());
  }

  private static PoolLimits limitsOf(MemoryOptions options, long wanted) {
    long most = options.memoryLimit() == -1 ? wanted : Math.min(wanted, options.memoryLimit());
    return new PoolLimits(
        options.pooling(),
        most,
        options.maxPoolBytesPerClass(),
        Math.min(options.keptPoolBytes(), most),
        options.evictionPolicy(),
        options.zeroOnRelease());
  }

  private Block allocate(Kind kind, long bytes, long alignment, Placement placement) {
    HostRequest request = HostRequest.of(bytes).aligned(alignment).placed(placement);
    return switch (kind) {
      case DEVICE -> allocate(BlockKind.DEVICE, bytes, alignment, placement);
      case UNIFIED -> allocate(BlockKind.UNIFIED, bytes, alignment, placement);
      case HOST -> resources.opened(allocator.allocate(request));
      case PINNED -> {
        Block locked = allocateLocked(kind, bytes, alignment, placement);
        yield locked == null ? inPlaceOfPinned(request, placement) : locked;
      }
      case STAGING -> {
        Block locked = allocateLocked(kind, bytes, alignment, placement);
        if (locked == null) {
          throw new NothingLocked();
        }
        yield locked;
      }
    };
  }

  private Block allocate(BlockKind kind, long bytes, long alignment, Placement placement) {
    return resources.opened(device.allocate(bytes, alignment, kind, placement));
  }

  /** Page-locked memory while there is some, else null. */
  private @Nullable Block allocateLocked(
      Kind kind, long bytes, long alignment, Placement placement) {
    if (!locksPages()) {
      return null;
    }
    if (kind == Kind.PINNED ? pinned.make(bytes, device.info().id()) : pinned.reserve(bytes)) {
      try {
        return BudgetedBlock.over(
            fromItsNode(placement, () -> allocate(BlockKind.PINNED, bytes, alignment, placement)),
            unlocked,
            bytes);
      } catch (OutOfDeviceMemoryException | UnsupportedOperationException e) {
        pinned.giveBack(bytes);
      } catch (RuntimeException | Error e) {
        pinned.giveBack(bytes);
        throw e;
      }
    }
    return null;
  }

  /** What lies idle of page-locked memory, without the plain blocks that stand in for some. */
  public Stream<ReclaimHandle> idlePinned() {
    return device.info().can(Capability.PINNED_MEMORY)
        ? ofKinds(kind -> kind == Kind.PINNED || kind == Kind.STAGING)
            .flatMap(pool -> pool.idlePieces(this::isLocked).stream())
        : Stream.empty();
  }

  private boolean isLocked(Block block) {
    return block instanceof BudgetedBlock charged && charged.countsFor(unlocked);
  }

  /** Page-locked memory lies on the node that the buffer names, else on the device's. */
  private Block fromItsNode(Placement placement, Supplier<Block> allocation) {
    OptionalInt node = placement.node().isPresent() ? placement.node() : device.numaNode();
    return node.isPresent()
        ? ThreadNumaPolicy.preferring(node.getAsInt(), allocation)
        : allocation.get();
  }

  /**
   * Page-locks memory of the caller where it lies, and keeps its arena open.
   *
   * @return what ends both and throws nothing; null if it cannot be locked
   */
  public @Nullable Runnable lock(MemorySegment memory) {
    Runnable unlocking =
        options.pinnedMemory() ? PinnedRegistration.lock(device, pinned, resources, memory) : null;
    if (unlocking == null) {
      fallbacks.increment();
    }
    return unlocking;
  }

  /** Plain memory, which kernels of a device that shares the host's must be able to use. */
  private Block inPlaceOfPinned(HostRequest request, Placement placement) {
    Block plain =
        device.info().can(Capability.SHARED_MEMORY)
            ? allocate(BlockKind.DEVICE, request.bytes(), request.alignment(), placement)
            : resources.opened(allocator.allocate(request));
    // Not before: what finds no memory at all is tried again, and has become nothing so far.
    fallbacks.increment();
    return plain;
  }

  /**
   * Says that there is no page-locked memory for staging, so that a block of the shared pool takes
   * its place. A signal between two methods, on a way that allocations take: without a trace.
   */
  private static final class NothingLocked extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NothingLocked() {
      super("no page-locked memory is left", null, false, false);
    }
  }

  /** Takes a block; see {@link MemoryPool#take}. */
  public PooledBlock take(Kind kind, long bytes, long alignment, boolean pooled) {
    long further = beyondUsual(kind, bytes, alignment);
    try {
      return poolHere(kind).take(Math.max(1, bytes), further, pooled);
    } catch (NothingLocked e) {
      PooledBlock plain = hosts.here().take(Math.max(1, bytes), further, pooled);
      fallbacks.increment();
      return plain;
    }
  }

  /** An alignment that such blocks do not have anyway; else 1. */
  private long beyondUsual(Kind kind, long bytes, long alignment) {
    return alignment <= usualAlignment(kind, bytes) ? 1 : alignment;
  }

  /**
   * What all blocks of a kind and size are aligned to. Large ones that the host sees are aligned to
   * pages although the pool does not know it; many a device aligns its own memory to less than
   * pages and says so.
   */
  private long usualAlignment(Kind kind, long bytes) {
    boolean deviceAlone = kind.isOfDevice() && !device.info().can(Capability.SHARED_MEMORY);
    return deviceAlone ? MemoryAllocator.SMALL_ALIGNMENT : MemoryAllocator.defaultAlignment(bytes);
  }

  /**
   * Takes a block that lies where it is told to. Page-locked ones of a node have a pool, because
   * the driver takes long to make them; others are not kept.
   */
  public PooledBlock takePlaced(
      Kind kind, long bytes, long alignment, boolean pooled, Placement placement) {
    // Refuses a node that does not exist, whatever the kind, before it gets a pool.
    var _ = HostRequest.of(bytes).placed(placement);
    boolean kept = kind == Kind.PINNED && placement.isOnlyNode();
    if (kept && placement.node().equals(device.numaNode())) {
      return take(kind, bytes, alignment, pooled);
    }
    MemoryPool pool =
        placed.computeIfAbsent(
            new Placed(kind, placement),
            _ ->
                ownPool(
                    kind,
                    placement,
                    kept ? pinnedLimits(options, HostMemory.now().totalBytes()) : NOTHING_KEPT));
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
    MemoryPool pool =
        MemoryPool.ofExactSizes(
            device.info().id() + " " + key.kind() + " of " + reservation,
            reservation.over(
                guarded(options, source(key.kind(), key.placement()), largest(key.kind()))),
            MemoryAllocator.SMALL_ALIGNMENT,
            new PoolLimits(
                options.pooling(),
                reservation.bytes(),
                reservation.bytes(),
                0,
                options.evictionPolicy(),
                options.zeroOnRelease()));
    own.add(pool);
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

  /** The pool of a kind for the calling thread. */
  private MemoryPool poolHere(Kind kind) {
    MemoryPool pool = pool(kind);
    return pool.equals(hosts.first()) ? hosts.here() : pool;
  }

  /** The pools of a kind: one, or one for each node. */
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

  /** The place of the calling thread's NUMA node in {@link #poolsByLocation}. */
  public int placeOfCaller() {
    return hosts.placeOfCaller();
  }

  public long fallbacks() {
    return fallbacks.sum();
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

  /** Trims the pools of the device's memory; how many bytes went back. */
  public long trimDevice() {
    return trim("suspend", lent(), MemoryPool::trim);
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

  /** What each pool has and has done, the shared one included. */
  public List<PoolStatistics> statistics() {
    return all().map(MemoryPool::statistics).toList();
  }

  /** Bytes that lie idle. */
  public long idleBytes() {
    return sum(MemoryPool::idleBytes);
  }

  /** Bytes of the largest idle block. */
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

  /** Returns the idle bytes in pools of the device's memory. */
  public long idleDeviceBytes() {
    return lent().mapToLong(MemoryPool::idleBytes).sum();
  }

  /**
   * Returns how many of the idle bytes cannot go back, because others of their slabs are in use.
   */
  public long boundDeviceBytes() {
    return lent().mapToLong(MemoryPool::boundBytes).sum();
  }

  /** What pools of the device's memory hold of the driver. */
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

  /** A figure of all pools; once this manager is closed, the shared pool's is none of its own. */
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

  /** Whether a thread has just taken a block that has no visible owner yet, or gives one back. */
  public boolean anyOnItsWay() {
    boolean[] any = new boolean[1];
    all().forEach(pool -> pool.forEachTaken(block -> any[0] |= block.isOnItsWay()));
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
            if (block.isOnItsWay()) {
              arriving.add(block);
            }
          });
    }
    for (PooledBlock block : arriving) {
      for (int tries = 0; block.isOnItsWay(); tries++) {
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
   * Whether a block of this manager's own pools is taken by anything but what {@code spared} says.
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
