package dev.tidepool.runtime;

import dev.tidepool.Capability;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.host.HostMemory;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.PinnedBudget;
import dev.tidepool.pool.BlockPool;
import dev.tidepool.pool.Lease;
import dev.tidepool.pool.PoolStatistics;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The pools of one manager: one for each kind of memory, and one beside it that keeps nothing. */
final class Pools implements AutoCloseable {
  private static final long LARGEST_POOL = 4L << 30;

  /** What a block is made of. */
  enum Kind {
    DEVICE,
    UNIFIED,
    HOST,
    /** What users ask for as PINNED. */
    PINNED,
    /**
     * Bytes on their way: reachable by the host at all times, page-locked where that can be had.
     */
    STAGING
  }

  /** A pool, and its twin that keeps nothing. */
  private record Pair(BlockPool pooled, BlockPool unpooled) {}

  private final Device device;
  private final MemoryAllocator allocator;
  private final PinnedBudget pinned;
  private final Map<Kind, Pair> pools = new EnumMap<>(Kind.class);
  private final LongAdder fallbacks = new LongAdder();

  Pools(Device device, MemoryAllocator allocator, PinnedBudget pinned, MemoryOptions options) {
    this.device = device;
    this.allocator = allocator;
    this.pinned = pinned;
    for (Kind kind : Kind.values()) {
      long total =
          kind == Kind.DEVICE ? device.memory().totalBytes() : HostMemory.now().totalBytes();
      long most =
          options.maxPoolBytes() == -1 ? Math.min(total / 4, LARGEST_POOL) : options.maxPoolBytes();
      // Large blocks that the host sees are aligned to pages although the pool does not know it;
      // many a device aligns its own memory to less than pages and says so.
      boolean hostSees = kind != Kind.DEVICE || device.info().can(Capability.SHARED_MEMORY);
      BlockPool.Source source =
          (bytes, alignment) ->
              allocate(
                  kind,
                  bytes,
                  hostSees
                      ? Math.max(alignment, MemoryAllocator.defaultAlignment(bytes))
                      : alignment);
      long largest =
          kind == Kind.DEVICE || kind == Kind.UNIFIED
              ? device.info().maximumAllocation()
              : Long.MAX_VALUE;
      pools.put(
          kind,
          new Pair(
              pool(kind, source, largest, limits(options, options.pooling(), most)),
              pool(kind, source, largest, limits(options, false, most))));
    }
  }

  private static BlockPool.Limits limits(MemoryOptions options, boolean pooling, long most) {
    return new BlockPool.Limits(
        pooling,
        most,
        options.maxPoolBytesPerClass(),
        Math.min(options.keptPoolBytes(), most),
        options.zeroOnRelease());
  }

  private BlockPool pool(
      Kind kind, BlockPool.Source source, long largest, BlockPool.Limits limits) {
    return new BlockPool(
        device.info().id() + " " + kind, source, MemoryAllocator.SMALL_ALIGNMENT, largest, limits);
  }

  private Block allocate(Kind kind, long bytes, long alignment) {
    return switch (kind) {
      case DEVICE -> device.allocate(bytes, alignment, BlockKind.DEVICE);
      case UNIFIED -> device.allocate(bytes, alignment, BlockKind.UNIFIED);
      case HOST -> allocator.allocate(bytes, alignment);
      case PINNED -> {
        Block locked = allocateLocked(bytes, alignment);
        yield locked == null ? inPlaceOfPinned(bytes, alignment) : locked;
      }
      case STAGING -> {
        Block locked = allocateLocked(bytes, alignment);
        yield locked == null ? allocator.allocate(bytes, alignment) : locked;
      }
    };
  }

  /** Page-locked memory while there is some, else null. */
  private @Nullable Block allocateLocked(long bytes, long alignment) {
    if (!device.info().can(Capability.PINNED_MEMORY)) {
      return null;
    }
    if (pinned.reserve(bytes)) {
      try {
        return new BudgetedBlock(
            device.allocate(bytes, alignment, BlockKind.PINNED), pinned, bytes);
      } catch (OutOfDeviceMemoryException | UnsupportedOperationException e) {
        pinned.giveBack(bytes);
      } catch (RuntimeException | Error e) {
        pinned.giveBack(bytes);
        throw e;
      }
    }
    fallbacks.increment();
    return null;
  }

  /** Plain memory, which kernels of a device that shares the host's must be able to use. */
  private Block inPlaceOfPinned(long bytes, long alignment) {
    if (!device.info().can(Capability.PINNED_MEMORY)) {
      fallbacks.increment();
    }
    return device.info().can(Capability.SHARED_MEMORY)
        ? device.allocate(bytes, alignment, BlockKind.DEVICE)
        : allocator.allocate(bytes, alignment);
  }

  Lease acquire(Kind kind, long bytes, long alignment, boolean pool) {
    Pair pair = pair(kind);
    long beyondDefault = alignment <= MemoryAllocator.defaultAlignment(bytes) ? 1 : alignment;
    return (pool ? pair.pooled() : pair.unpooled()).acquire(Math.max(1, bytes), beyondDefault);
  }

  BlockPool pool(Kind kind) {
    return pair(kind).pooled();
  }

  private Pair pair(Kind kind) {
    return Objects.requireNonNull(pools.get(kind), "every kind has its pools");
  }

  long fallbacks() {
    return fallbacks.sum();
  }

  long trim() {
    return pools.values().stream().mapToLong(pair -> pair.pooled().trim()).sum();
  }

  void trimIdleSince(long nanoTime) {
    pools.values().forEach(pair -> pair.pooled().trimIdleSince(nanoTime));
  }

  /** A figure added up over all pools, those that keep nothing included. */
  long sum(ToLongFunction<PoolStatistics> figure) {
    return pools.values().stream()
        .flatMap(pair -> Stream.of(pair.pooled(), pair.unpooled()))
        .mapToLong(pool -> figure.applyAsLong(pool.statistics()))
        .sum();
  }

  @Override
  public void close() {
    for (Pair pair : pools.values()) {
      pair.pooled().close();
      pair.unpooled().close();
    }
  }
}
