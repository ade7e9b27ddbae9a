package dev.tidepool.runtime.supply;

import dev.tidepool.Capability;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.host.HostMemory;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.ThreadNumaPolicy;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PoolLimits;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.runtime.supply.MemoryPools.Kind;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Placement;
import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Creates the pools of one manager: the sources of their blocks, with limit and guard zones, and
 * the limits of idle memory. Plain memory replaces page-locked memory that is not available.
 */
public final class PoolFactory {
  private static final long LARGEST_POOL = 4L << 30;

  private static final PoolLimits NOTHING_KEPT =
      new PoolLimits(false, 0, 0, 0, EvictionPolicy.LRU, false);

  private final Device device;
  private final MemoryAllocator allocator;
  private final SessionResources resources;
  private final PinnedReclaimer pinned;
  private final @Nullable MemoryLimit limit;
  private final ReservationLedger reservations;
  private final MemoryOptions options;
  private final LongAdder fallbacks = new LongAdder();

  /**
   * Creates the factory for a device.
   *
   * @param limit the maximum of all pools together; null for none
   * @param reservations the reservations of the device's memory
   */
  PoolFactory(
      Device device,
      @Nullable MemoryLimit limit,
      ReservationLedger reservations,
      MemoryAllocator allocator,
      SessionResources resources,
      PinnedReclaimer pinned,
      MemoryOptions options) {
    this.device = device;
    this.limit = limit;
    this.reservations = reservations;
    this.allocator = allocator;
    this.resources = resources;
    this.pinned = pinned;
    this.options = options;
  }

  /**
   * Creates the pools of plain host memory, of one manager or for all with these options.
   *
   * @param limit the maximum of all pools of the manager together; null for none
   */
  public static HostPools hostPools(
      MemoryAllocator allocator,
      SessionResources resources,
      ReservationLedger reservations,
      @Nullable MemoryLimit limit,
      MemoryOptions options) {
    NodeMemory machine = NodeMemory.current();
    PoolLimits limits = limits(options, HostMemory.now().totalBytes());
    boolean alone = machine.nodes().size() == 1;
    return new HostPools(
        machine,
        node -> {
          MemoryPool.Source source =
              (bytes, alignment) -> {
                HostRequest request = hostRequest(bytes, alignment);
                return resources.opened(
                    alone
                        ? allocator.allocate(request)
                        : machine.allocate(allocator, request, node));
              };
          return new MemoryPool(
              alone ? "host memory" : "host memory of node " + node,
              guarded(options, within(limit, reservations.over(source)), Long.MAX_VALUE),
              limits);
        });
  }

  /** Creates the pool of a kind, whose blocks have no placement. */
  MemoryPool pool(Kind kind) {
    long totalBytes = (kind.isOfDevice() ? device.memory() : HostMemory.now()).totalBytes();
    return pool(
        kind,
        Placement.ANYWHERE,
        kind.isOfDevice() ? limits(options, totalBytes) : pinnedLimits(options, totalBytes));
  }

  MemoryPool placedPool(Kind kind, Placement placement, boolean kept) {
    return pool(
        kind,
        placement,
        kept ? pinnedLimits(options, HostMemory.now().totalBytes()) : NOTHING_KEPT);
  }

  /** Creates a pool of blocks that the limit does not count and that are not kept. */
  MemoryPool transitPool() {
    return new MemoryPool(
        "bytes on their way",
        (bytes, alignment) -> resources.opened(allocator.allocate(bytes, alignment)),
        NOTHING_KEPT);
  }

  /** Creates a pool of exact sizes, whose blocks are charged to a reservation. */
  MemoryPool reservedPool(Kind kind, Placement placement, DeviceReservation reservation) {
    return MemoryPool.ofExactSizes(
        device.info().id() + " " + kind + " of " + reservation,
        reservation.over(guarded(options, source(kind, placement), largest(kind))),
        new PoolLimits(
            options.pooling(),
            reservation.bytes(),
            reservation.bytes(),
            0,
            options.evictionPolicy(),
            options.zeroOnRelease()));
  }

  private MemoryPool pool(Kind kind, Placement placement, PoolLimits limits) {
    long largest = kind.isOfDevice() ? largest(kind) : Long.MAX_VALUE;
    return new MemoryPool(
        device.info().id() + " " + kind,
        guarded(
            options,
            within(
                limit,
                kind.isOfDevice()
                    ? reservations.over(source(kind, placement))
                    : source(kind, placement)),
            largest),
        largest,
        limits);
  }

  private MemoryPool.Source source(Kind kind, Placement placement) {
    return (bytes, alignment) ->
        allocate(kind, bytes, Math.max(alignment, usualAlignment(kind, bytes)), placement);
  }

  /** Returns the maximum bytes of a block of a kind of device memory. */
  long largest(Kind kind) {
    return device.largestBlock(kind == Kind.UNIFIED ? BlockKind.UNIFIED : BlockKind.DEVICE);
  }

  /**
   * Returns the alignment of all blocks of a kind and size. Large blocks that the host can access
   * are aligned to pages, although the pool does not know it. Many devices align their own memory
   * to less than a page.
   */
  long usualAlignment(Kind kind, long bytes) {
    boolean deviceAlone = kind.isOfDevice() && !device.info().can(Capability.SHARED_MEMORY);
    return deviceAlone ? MemoryAllocator.SMALL_ALIGNMENT : MemoryAllocator.defaultAlignment(bytes);
  }

  private static PoolLimits limits(MemoryOptions options, long totalBytes) {
    return limitsOf(
        options,
        options.maxPoolBytes() == -1
            ? Math.min(totalBytes / 4, LARGEST_POOL)
            : options.maxPoolBytes());
  }

  private static PoolLimits pinnedLimits(MemoryOptions options, long totalBytes) {
    return options.pinnedPoolBytes() == -1
        ? limits(options, totalBytes)
        : limitsOf(options, options.pinnedPoolBytes());
  }

  // The initial memory-limit bounds a pool permanently: its slabs depend on the bound.
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

  private static HostRequest hostRequest(long bytes, long alignment) {
    return HostRequest.of(bytes)
        .aligned(Math.max(alignment, MemoryAllocator.defaultAlignment(bytes)));
  }

  private static MemoryPool.Source within(@Nullable MemoryLimit limit, MemoryPool.Source source) {
    return limit == null ? source : limit.over(source);
  }

  /** Returns a source as it is, or with guard zones at the paranoid level. */
  private static MemoryPool.Source guarded(
      MemoryOptions options, MemoryPool.Source source, long largest) {
    return options.diagnostics() == DiagnosticsLevel.PARANOID
        ? new GuardedSource(source, largest)
        : source;
  }

  boolean locksPages() {
    return options.pinnedMemory() && device.info().can(Capability.PINNED_MEMORY);
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

  /** Returns page-locked memory; null if none is available. */
  private @Nullable Block allocateLocked(
      Kind kind, long bytes, long alignment, Placement placement) {
    if (!locksPages()) {
      return null;
    }
    if (kind == Kind.PINNED
        ? pinned.reserveByFreeing(bytes, device.info().id())
        : pinned.reserve(bytes)) {
      try {
        return BudgetedBlock.over(
            fromItsNode(placement, () -> allocate(BlockKind.PINNED, bytes, alignment, placement)),
            pinned,
            bytes);
      } catch (OutOfDeviceMemoryException | UnsupportedOperationException e) {
        pinned.freed(bytes);
      } catch (RuntimeException | Error e) {
        pinned.freed(bytes);
        throw e;
      }
    }
    return null;
  }

  /** Returns whether a block is page-locked and counts in the budget of page-locked memory. */
  boolean isLocked(Block block) {
    return block instanceof BudgetedBlock charged && charged.countsIn(pinned);
  }

  /** Allocates page-locked memory on the node that the buffer names, else on the device's. */
  private Block fromItsNode(Placement placement, Supplier<Block> allocation) {
    OptionalInt node = placement.node().isPresent() ? placement.node() : device.numaNode();
    return node.isPresent()
        ? ThreadNumaPolicy.preferring(node.getAsInt(), allocation)
        : allocation.get();
  }

  /**
   * Page-locks memory of the caller in place, and keeps its arena open.
   *
   * @return undoes both and throws nothing; null if the memory cannot be locked
   */
  @Nullable Runnable lock(MemorySegment memory) {
    Runnable unlocking =
        options.pinnedMemory() ? PinnedRegistration.lock(device, pinned, resources, memory) : null;
    if (unlocking == null) {
      fallbacks.increment();
    }
    return unlocking;
  }

  /** Allocates plain memory, which kernels of a shared-memory device must be able to use. */
  private Block inPlaceOfPinned(HostRequest request, Placement placement) {
    Block plain =
        device.info().can(Capability.SHARED_MEMORY)
            ? allocate(BlockKind.DEVICE, request.bytes(), request.alignment(), placement)
            : resources.opened(allocator.allocate(request));
    // Counted after the allocation: a request that fails is repeated.
    fallbacks.increment();
    return plain;
  }

  /**
   * Signals that there is no page-locked memory for staging, so that a block of the shared pool
   * replaces it. Has no stack trace, because allocations may throw it often.
   */
  static final class NothingLocked extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NothingLocked() {
      super("no page-locked memory is left", null, false, false);
    }
  }

  /** Returns how often plain memory replaced page-locked memory. */
  long fallbacks() {
    return fallbacks.sum();
  }

  /** Counts plain memory that replaced page-locked memory for staging. */
  void fellBack() {
    fallbacks.increment();
  }
}
