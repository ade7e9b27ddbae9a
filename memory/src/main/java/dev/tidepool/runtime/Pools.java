package dev.tidepool.runtime;

import dev.tidepool.Capability;
import dev.tidepool.MemoryOptions;
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

/** The pools of one manager: one for each kind of memory, and one beside it that keeps nothing. */
final class Pools implements AutoCloseable {
  private static final long LARGEST_POOL = 4L << 30;

  /** What a block is made of. */
  enum Kind {
    DEVICE,
    UNIFIED,
    HOST,
    PINNED
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
      // Large blocks are aligned to pages although the pool does not know it.
      BlockPool.Source source =
          (bytes, alignment) ->
              allocate(kind, bytes, Math.max(alignment, MemoryAllocator.defaultAlignment(bytes)));
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
      case PINNED -> allocatePinned(bytes, alignment);
    };
  }

  /** Page-locked memory while there is some, else plain memory. */
  private Block allocatePinned(long bytes, long alignment) {
    if (!device.info().can(Capability.PINNED_MEMORY)) {
      return plain(bytes, alignment);
    }
    if (!pinned.reserve(bytes)) {
      return plain(bytes, alignment);
    }
    try {
      return new BudgetedBlock(device.allocate(bytes, alignment, BlockKind.PINNED), pinned);
    } catch (RuntimeException e) {
      pinned.giveBack(bytes);
      return plain(bytes, alignment);
    }
  }

  /** Counts a PINNED block that is plain memory. */
  void countFallback() {
    fallbacks.increment();
  }

  private Block plain(long bytes, long alignment) {
    countFallback();
    return allocator.allocate(bytes, alignment);
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
