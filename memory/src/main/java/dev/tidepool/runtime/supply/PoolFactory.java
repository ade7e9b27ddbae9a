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
 * Makes the pools of one manager: what their blocks are, what counts and guards them, and what the
 * pools may keep. Page-locked memory that cannot be had is replaced by plain memory.
 */
public final class PoolFactory {
  private static final long LARGEST_POOL = 4L << 30;

  private static final PoolLimits NOTHING_KEPT =
      new PoolLimits(false, 0, 0, 0, EvictionPolicy.LRU, false);

  private final Device device;
  private final MemoryAllocator allocator;
  private final SessionResources resources;
  private final PinnedReclaimer pinned;
  // One object, which tells the blocks that count there from all others.
  private final BudgetedBlock.Budget unlocked;
  private final @Nullable MemoryLimit limit;
  private final ReservationLedger reservations;
  private final MemoryOptions options;
  private final LongAdder fallbacks = new LongAdder();

  /**
   * Creates it for a device.
   *
   * @param limit what all pools together may hold; null for as much as there is
   * @param reservations what is reserved of the device's memory
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
    this.unlocked = pinned::giveBack;
    this.options = options;
  }

  /**
   * Makes the pools of plain host memory, of one manager or for all with these options.
   *
   * @param limit what all pools of the manager together may hold; null for as much as there is
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
    return HostPools.of(
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

  /** Makes the pool of a kind, whose blocks lie anywhere. */
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

  /** Makes a pool of blocks that the limit does not count and that are not kept. */
  MemoryPool transitPool() {
    return new MemoryPool(
        "bytes on their way",
        (bytes, alignment) -> resources.opened(allocator.allocate(bytes, alignment)),
        NOTHING_KEPT);
  }

  /** Makes a pool of exact sizes, whose blocks count against a reservation. */
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

  /** Bytes of the largest block of a kind that lies on the device. */
  long largest(Kind kind) {
    return device.largestBlock(kind == Kind.UNIFIED ? BlockKind.UNIFIED : BlockKind.DEVICE);
  }

  /**
   * Returns what all blocks of a kind and size are aligned to. Large ones that the host sees are
   * aligned to pages although the pool does not know it; many a device aligns its own memory to
   * less than pages and says so.
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

  // The first memory-limit bounds a pool for good: the size of its slabs goes by what it may keep.
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

  /** Page-locked memory while there is some, else null. */
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

  /** Returns whether a block is page-locked and counts in the budget. */
  boolean isLocked(Block block) {
    return block instanceof BudgetedBlock charged && charged.countsIn(unlocked);
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
  @Nullable Runnable lock(MemorySegment memory) {
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
    // Counted after the allocation: a request that finds no memory throws, and is made again.
    fallbacks.increment();
    return plain;
  }

  /**
   * Says that there is no page-locked memory for staging, so that a block of the shared pool takes
   * its place. A signal between two methods, on a way that allocations take: without a trace.
   */
  static final class NothingLocked extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NothingLocked() {
      super("no page-locked memory is left", null, false, false);
    }
  }

  /** Returns how often plain memory took the place of page-locked memory. */
  long fallbacks() {
    return fallbacks.sum();
  }

  /** Plain memory has taken the place of page-locked memory for staging. */
  void fellBack() {
    fallbacks.increment();
  }
}
