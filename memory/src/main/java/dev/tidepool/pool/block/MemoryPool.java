package dev.tidepool.pool.block;

import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.pool.SizeClasses;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of one kind of memory, kept for reuse.
 *
 * <p>A request is rounded up to its size class. It is served from the first of these that has a
 * block: the caller's stripe; the list that all threads share; the other stripes; from 64 KiB on, a
 * class that is at most an eighth larger; the source. Before a request to the source, idle blocks
 * above the {@linkplain HighWater high-water mark} are returned to it. Blocks below 64 KiB are
 * usually cut from slabs, so that one driver call provides many. Requests above 1 GiB have no
 * class: their blocks have exactly the requested size. In a steady state, taking and returning a
 * block takes no lock, allocates nothing, and touches no memory that other threads write.
 *
 * <p><b>Ownership.</b> A block has a place in a stripe or on a shared list. A word of the block, or
 * a bit of the list, says whether it is idle. The thread that changes that word or bit owns the
 * block. No lock is held while a block is freed or allocated.
 *
 * <p><b>Returning a block</b> never throws. It neither waits nor allocates, unless it frees the
 * block at once: a block that is never kept, that could not be cleared, or that comes back after
 * {@link #close}. A block for which the pool has no room is freed later: by the next miss, by
 * {@link #drain}, or by the next trim.
 *
 * <p>Thread-safe, also for virtual threads.
 */
public final class MemoryPool extends PoolCallbacks implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(MemoryPool.class.getName());

  /** The alignment of every block, in bytes. */
  private static final long ALIGNMENT = MemoryAllocator.SMALL_ALIGNMENT;

  private static final long FIRST_SLAB = 64L << 10;
  private static final long LARGEST_SLAB = 32L << 20;

  /** A slab has at most the bytes that the pool may keep, in all or in a class, divided by this. */
  private static final int SLABS_IN_POOL = 16;

  /** A slab has at least the bytes of all slabs of its class, divided by this. */
  private static final int SLABS_IN_CLASS = 16;

  private final String name;
  private final Source source;
  private final long largestBlock;
  private final PoolLimits limits;
  private final boolean exact;
  private final boolean zeroesOnRelease;

  private final IdleBlocks idle;
  // Equals the stripes of `idle`; kept here to save one load.
  private final ThreadStripes stripes;
  private final PoolCounters counters = new PoolCounters();
  private final PendingFrees pendingFrees = new PendingFrees();
  private final Trimmer trimmer;
  private final SlabCompactor compactor;
  // The number of allocations and frees in progress.
  private final AtomicInteger calls = new AtomicInteger();
  private final HighWater highWater;
  private final AtomicLongArray slabBytes = new AtomicLongArray(SizeClasses.CUT_COUNT);

  /** The slab that was cut last. A race loses at most one doubling. */
  private volatile @Nullable Cut lastCut;

  /** Whether blocks of the source can be cut, according to the last small block. */
  private volatile boolean cuts;

  private volatile boolean closed;

  /** The size class and number of parts of a slab. */
  private record Cut(int sizeClass, int parts) {}

  /** Allocates the blocks of a pool. */
  @FunctionalInterface
  public interface Source {
    /**
     * Allocates a block of at least that many bytes.
     *
     * @throws dev.tidepool.OutOfDeviceMemoryException if there is no room
     */
    Block allocate(long bytes, long alignment);
  }

  /**
   * Creates a pool of blocks of any size; see {@link #MemoryPool(String, Source, long,
   * PoolLimits)}.
   *
   * @param name the name for messages
   * @param source allocates the blocks
   * @param limits the limits of what is kept
   */
  public MemoryPool(String name, Source source, PoolLimits limits) {
    this(name, source, Long.MAX_VALUE, limits);
  }

  /**
   * Creates a pool for a source whose blocks have a largest size.
   *
   * @param name the name for messages
   * @param source allocates the blocks
   * @param largestBlock the largest block of the source; sizes are not rounded up beyond it
   * @param limits the limits of what is kept
   */
  public MemoryPool(String name, Source source, long largestBlock, PoolLimits limits) {
    this(name, source, largestBlock, limits, false);
  }

  /**
   * Returns a pool that does not round sizes. Each block has exactly the requested size and serves
   * only requests for that size. For memory that is counted to the byte.
   */
  public static MemoryPool ofExactSizes(String name, Source source, PoolLimits limits) {
    return new MemoryPool(name, source, Long.MAX_VALUE, limits, true);
  }

  private MemoryPool(
      String name, Source source, long largestBlock, PoolLimits limits, boolean exact) {
    this.exact = exact;
    this.name = Objects.requireNonNull(name, "name");
    this.source = Objects.requireNonNull(source, "source");
    this.largestBlock = largestBlock;
    this.limits = limits;
    this.zeroesOnRelease = limits.zeroOnRelease();
    this.idle = new IdleBlocks(limits, this::evict, this::evictSlab);
    this.stripes = idle.stripes();
    this.highWater = new HighWater(idle, counters, this::evictNow);
    this.trimmer = new Trimmer(idle, counters, limits, this::free);
    this.compactor = new SlabCompactor(idle, counters, this::free);
  }

  /** Returns the name for messages. */
  @Override
  public String name() {
    return name;
  }

  /**
   * Leases a block of at least this many bytes. Its contents are undefined.
   *
   * @param bytes at least 1
   * @param alignment a power of two; with more than 64, the block is allocated for this lease alone
   * @throws OutOfDeviceMemoryException if no block is idle and the source has no room
   * @throws IllegalStateException if the pool is closed
   */
  public Lease acquire(long bytes, long alignment) {
    PooledBlock block = take(bytes, alignment, true);
    Lease lease = Lease.over(block);
    block.occupy(lease);
    return lease;
  }

  /**
   * Takes a block like {@link #acquire}, but without a lease. The caller returns the block exactly
   * once, and sets its tenant with {@link PooledBlock#occupy}.
   *
   * @param pooled whether the block may be reused, now and afterwards
   */
  public PooledBlock take(long bytes, long alignment, boolean pooled) {
    if (bytes < 1) {
      throw new IllegalArgumentException(
          bytes + " bytes were asked of the pool " + name + "; ask for at least 1");
    }
    if (!limits.pooling() || !pooled || checkedAlignment(alignment) > ALIGNMENT) {
      return allocateSingle(
          bytes, Math.max(checkedAlignment(alignment), ALIGNMENT), PooledBlock.NOT_KEPT);
    }
    if (exact || bytes > SizeClasses.LARGEST) {
      return takeBeyondClasses(bytes);
    }
    PooledBlock block = takeIdle(bytes);
    return block != null ? block : takeSlowly(bytes, SizeClasses.classOf(bytes));
  }

  /**
   * Returns a block of the calling thread's stripe that seems idle, for {@link
   * PooledBlock#takeNear}. Returns null if there is none or the pool keeps none. Costs a nanosecond
   * or two.
   *
   * @param bytes at least 0; 0 is served like 1
   */
  public @Nullable PooledBlock seenNear(long bytes) {
    return stripes.seen(SizeClasses.classOf(bytes));
  }

  /**
   * Takes a block from the list that all threads share. Returns null if it has none or the pool
   * keeps none.
   *
   * @param bytes at least 0; 0 is served like 1
   */
  public @Nullable PooledBlock takeShared(long bytes) {
    PooledBlock block =
        bytes > SizeClasses.LARGEST ? null : idle.takeShared(SizeClasses.classOf(bytes));
    return block == null ? null : again(block);
  }

  /**
   * Takes an idle block of the calling thread's stripe, or of the list that all threads share.
   * Returns null if neither has one or the pool keeps none. Costs a few nanoseconds.
   *
   * @param bytes at least 0; 0 is served like 1
   */
  public @Nullable PooledBlock takeIdle(long bytes) {
    if (bytes > SizeClasses.LARGEST) {
      return null;
    }
    PooledBlock block = stripes.take(SizeClasses.classOf(bytes));
    return block == null ? takeShared(bytes) : again(block);
  }

  private @Nullable PooledBlock takeAnyOfClass(long bytes, int sizeClass) {
    PooledBlock block = idle.takeAny(sizeClass);
    return block == null && sizeClass >= SizeClasses.CUT_COUNT
        ? idle.takeRoomier(bytes, sizeClass)
        : block;
  }

  private PooledBlock takeSlowly(long bytes, int sizeClass) {
    long classBytes = SizeClasses.bytesOf(sizeClass);
    if (classBytes > largestBlock) {
      return takeBeyondClasses(bytes);
    }
    PooledBlock block = takeAnyOfClass(bytes, sizeClass);
    if (block != null) {
      return again(block);
    }
    return sizeClass < SizeClasses.CUT_COUNT && cuts
        ? allocateSlab(sizeClass)
        : allocateSingle(classBytes, ALIGNMENT, sizeClass);
  }

  private PooledBlock takeBeyondClasses(long bytes) {
    PooledBlock block = idle.takeBeyondClasses(bytes);
    return block != null ? again(block) : allocateSingle(bytes, ALIGNMENT, SizeClasses.BEYOND);
  }

  private static PooledBlock again(PooledBlock block) {
    block.hits++;
    return block;
  }

  private PooledBlock allocateSingle(long bytes, long blockAlignment, int sizeClass) {
    calls.incrementAndGet();
    try {
      counters.missed(sizeClass);
      return enrolled(allocate(bytes, blockAlignment), bytes, sizeClass);
    } finally {
      calls.decrementAndGet();
    }
  }

  private PooledBlock enrolled(Block block, long bytes, int sizeClass) {
    PooledBlock pooled = null;
    try {
      pooled = new PooledBlock(this, block, bytes, sizeClass, null);
      if (sizeClass != PooledBlock.NOT_KEPT) {
        idle.settle(pooled);
      }
      if (sizeClass < SizeClasses.CUT_COUNT) {
        cuts = !isMapped(block);
      }
      counters.enrol(pooled);
      return pooled;
    } catch (RuntimeException | Error e) {
      // The heap may be full. The pool does not know the block yet, so this method frees it.
      if (pooled != null) {
        idle.unsettle(pooled);
        counters.forget(pooled);
      }
      freeQuietly(block);
      throw e;
    }
  }

  /** Cuts a slab, or allocates one block if no slab is available. */
  private PooledBlock allocateSlab(int sizeClass) {
    int count = partsOfNextSlab(sizeClass);
    Slab slab = count < 2 ? null : cutSlab(sizeClass, count);
    if (slab == null) {
      return allocateSingle(SizeClasses.bytesOf(sizeClass), ALIGNMENT, sizeClass);
    }
    counters.missed(sizeClass);
    return slab.parts().getFirst();
  }

  private @Nullable Slab cutSlab(int sizeClass, int count) {
    Cut cut = new Cut(sizeClass, count);
    calls.incrementAndGet();
    try {
      Slab slab = cut(allocate(count * SizeClasses.bytesOf(sizeClass), ALIGNMENT), sizeClass);
      if (slab == null) {
        return null;
      }
      lastCut = cut;
      slabBytes.addAndGet(sizeClass, slab.bytes());
      counters.enrol(slab);
      // The rest allocates no objects. The first part is the caller's.
      for (int i = 1; i < slab.parts().size(); i++) {
        idle.putAnyway(slab.parts().get(i));
      }
      return slab;
    } catch (OutOfDeviceMemoryException e) {
      return null;
    } finally {
      calls.decrementAndGet();
    }
  }

  private @Nullable Slab cut(Block whole, int sizeClass) {
    Slab slab = null;
    try {
      if (isMapped(whole)) {
        // The source gave a different kind of memory than before.
        freeQuietly(whole);
        return null;
      }
      slab = new Slab(whole);
      slab.cut(this, sizeClass).forEach(idle::settle);
      return slab;
    } catch (RuntimeException | Error e) {
      for (int i = 0; slab != null && i < slab.parts().size(); i++) {
        idle.unsettle(slab.parts().get(i));
      }
      freeQuietly(whole);
      throw e;
    }
  }

  /** Returns whether host and device access a block in turn: it is handed over as a whole. */
  private static boolean isMapped(Block block) {
    return block.hostAccess() == HostAccess.MAPPED;
  }

  /**
   * Returns the number of parts of the next slab. Slabs grow with the bytes of their class, so that
   * the idle part of the last slab stays a small fraction. If one class alone grows, each slab is
   * twice as large as the last.
   */
  private int partsOfNextSlab(int sizeClass) {
    long classBytes = SizeClasses.bytesOf(sizeClass);
    long bytes = Math.max(FIRST_SLAB, slabBytes.get(sizeClass) / SLABS_IN_CLASS);
    long wanted = Math.max(2, bytes / classBytes);
    Cut last = lastCut;
    if (last != null && last.sizeClass() == sizeClass) {
      wanted = Math.max(wanted, 2L * last.parts());
    }
    long kept = Math.min(limits.maxBytes(), limits.maxBytesPerClass());
    long largest = Math.min(LARGEST_SLAB, kept / SLABS_IN_POOL);
    long most = Math.min(largest, largestBlock) / classBytes;
    return (int) Math.min(most, wanted);
  }

  /** Requests a block. The caller counts as one of {@link #calls} until the block is enrolled. */
  private Block allocate(long bytes, long blockAlignment) {
    if (closed) {
      throw new IllegalStateException(
          "the pool " + name + " is closed; its manager was closed before this request");
    }
    drain();
    long live = highWater.makeRoomFor(bytes);
    Block block = source.allocate(bytes, blockAlignment);
    highWater.used(live);
    counters.gained(block.byteSize());
    if (block.byteSize() < bytes) {
      freeQuietly(block);
      throw new IllegalStateException(
          "the source of " + name + " gave " + block.byteSize() + " bytes instead of " + bytes);
    }
    return block;
  }

  /** Implements {@link PooledBlock#giveBack}. */
  @Override
  void giveBack(PooledBlock block) {
    block.vacated();
    if (closed || block.sizeClass == PooledBlock.NOT_KEPT || !readyToKeep(block)) {
      end(block);
      return;
    }
    if (!idle.put(block)) {
      evict(block);
    }
    if (closed) {
      // Closed meanwhile; the trim of close() may have missed the block.
      trim();
    }
  }

  /** Implements {@link PooledBlock#endDormancyAtOnce}. */
  @Override
  boolean giveBackAtOnce(PooledBlock block, long number) {
    if (zeroesOnRelease || !idle.putDormant(block, number)) {
      return false;
    }
    if (closed) {
      // Closed meanwhile; the trim of close() may have missed the block.
      trim();
    }
    return true;
  }

  @Override
  void discard(PooledBlock block) {
    block.vacated();
    end(block);
  }

  /** Frees a block that the caller owns. A part of a slab is freed with its slab. */
  private void end(PooledBlock block) {
    if (block.slab == null) {
      free(block);
      return;
    }
    counters.retired(block);
    if (closed) {
      trim();
    }
  }

  /** Takes ownership of a block that the pool cannot keep. */
  private void evict(PooledBlock block) {
    if (block.slab != null) {
      idle.putAnyway(block);
      return;
    }
    counters.evicted();
    counters.retired(block);
    pendingFrees.add(block);
  }

  /** Frees the blocks that the pool could not keep when they were returned. */
  public void drain() {
    // Parts of slabs are kept beyond the caps while their slab is in use.
    boolean evicting = idle.isOverfull();
    while (evicting) {
      evicting = evictSlab() > 0 && idle.isOverfull();
    }
    calls.incrementAndGet();
    try {
      PooledBlock block = pendingFrees.takeAll();
      while (block != null) {
        PooledBlock next = block.nextPendingFree;
        free(block.slab == null ? block : block.slab);
        block = next;
      }
    } finally {
      calls.decrementAndGet();
    }
  }

  /**
   * Frees the idle block that the policy chooses, or else the newest idle slab, whatever the
   * policy. Returns its bytes, or 0 if there was none.
   */
  private long evictNow() {
    long block = idle.evictFirst();
    long evicted = block > 0 ? block : evictSlab();
    drain();
    return evicted;
  }

  /**
   * Queues the newest idle slab, by its first part, for freeing. Returns its bytes, or 0 if there
   * is none.
   */
  private long evictSlab() {
    for (Slab slab = counters.slabs().first(); slab != null; slab = slab.next) {
      if (slab.isAllIdle() && slab.claim(idle)) {
        counters.evicted();
        counters.retired(slab);
        pendingFrees.add(slab.parts().getFirst());
        return slab.bytes();
      }
    }
    return 0;
  }

  private boolean readyToKeep(PooledBlock block) {
    if (zeroesOnRelease) {
      try {
        block.zero();
      } catch (RuntimeException | Error e) {
        failed(block.bytes, "cleared", e);
        return false;
      }
      return !block.isUnclean();
    }
    return true;
  }

  @Override
  void countRepeatedRelease() {
    counters.repeatedReleases.incrementAndGet();
  }

  /** Frees a block or slab that the caller has claimed. */
  private void free(Reclaimable claimed) {
    calls.incrementAndGet();
    try {
      freed(claimed);
    } finally {
      calls.decrementAndGet();
    }
  }

  private void freed(Reclaimable claimed) {
    // Not a switch over the types: its first run allocates, and a failure would lose the claim.
    if (claimed instanceof PooledBlock block) {
      if (block.sizeClass != PooledBlock.NOT_KEPT) {
        idle.vacate(block);
      }
      // Before the memory is freed, so that no memory seems to have two owners.
      counters.forget(block);
      freeQuietly(block.block);
    } else if (claimed instanceof Slab slab) {
      for (int i = 0; i < slab.parts().size(); i++) {
        idle.vacate(slab.parts().get(i));
      }
      slabBytes.addAndGet(slab.sizeClass(), -slab.bytes());
      counters.forget(slab);
      freeQuietly(slab.whole);
    }
  }

  private void freeQuietly(Block block) {
    counters.lost(block.byteSize());
    try {
      block.free();
    } catch (RuntimeException | Error e) {
      counters.failedFrees.incrementAndGet();
      failed(block.byteSize(), "freed", e);
    }
  }

  private void failed(long bytes, String what, Throwable failure) {
    try {
      LOG.log(
          System.Logger.Level.WARNING,
          "a block of " + bytes + " bytes of " + name + " could not be " + what,
          failure);
    } catch (RuntimeException | Error e) {
      // The heap has no room for the message either.
      return;
    }
  }

  /** Frees idle blocks, and slabs whose parts are all idle. Returns the freed bytes. */
  public long trim() {
    drain();
    highWater.restart();
    return trimmer.all();
  }

  /**
   * Frees the blocks that wait to be freed, and returns handles of the memory that is idle now.
   *
   * @param wanted selects among the source's blocks
   */
  public List<ReclaimHandle> idlePieces(Predicate<Block> wanted) {
    drain();
    return trimmer.pieces(wanted);
  }

  /**
   * Frees blocks that have been idle since before a time, in the order of the policy, while more
   * than the kept bytes are idle. If the policy is {@link
   * dev.tidepool.pooling.EvictionPolicy#TIME_TO_LIVE}, frees idle blocks that were allocated before
   * that time instead.
   *
   * <p>The time when a block became idle is not recorded, because this would cost more than the
   * rest of a release. The block counts as idle since the first call of this method that found it
   * idle. If called at intervals, this method frees a block after one to two intervals without use.
   * Except with {@code TIME_TO_LIVE}, it never frees a block that was used since the given time.
   *
   * @param nanoTime in terms of {@link System#nanoTime()}
   * @return the freed bytes
   */
  public long trimIdleSince(long nanoTime) {
    drain();
    long trimmed = trimmer.idleSince(nanoTime);
    if (trimmed > 0) {
      highWater.restart();
    }
    return trimmed;
  }

  /**
   * Moves the contents of slabs together, so that some slabs become idle, and frees those.
   * Allocations never wait for this. Contents that cannot be moved at once stay.
   *
   * @return the freed bytes
   */
  public long compact(BlockMover mover) {
    // Counted as a call, so that the manager and its device do not end during a pass.
    calls.incrementAndGet();
    try {
      return closed ? 0 : compactor.run(mover);
    } finally {
      calls.decrementAndGet();
      if (closed) {
        trim();
      }
    }
  }

  /** Returns the idle bytes that cannot be freed because other parts of their slab are in use. */
  public long boundBytes() {
    return counters.boundBytes();
  }

  /** Returns the idle bytes. Reads no blocks outside the stripes. */
  public long idleBytes() {
    return idle.idleBytes();
  }

  /** Returns the size of the largest idle block, or 0 if none is idle. */
  public long largestIdleBytes() {
    long[] largest = new long[1];
    counters.forEach(
        block -> {
          if (block.isIdle()) {
            largest[0] = Math.max(largest[0], block.bytes);
          }
        });
    return largest[0];
  }

  /** Returns the bytes that the source has allocated and not freed. */
  public long reservedBytes() {
    return counters.reservedBytes();
  }

  /** Returns the peak of {@link #reservedBytes}. */
  public long peakReservedBytes() {
    return counters.peakReservedBytes();
  }

  /** Passes all blocks to an action, idle or taken. A block may change its state meanwhile. */
  public void forEachBlock(Consumer<PooledBlock> action) {
    counters.forEach(action);
  }

  /** Returns an iterator over all blocks, idle or taken; see {@link BlockCursor}. */
  public Iterator<PooledBlock> blocks() {
    return new BlockCursor(counters.singles(), counters.slabs());
  }

  /** Passes all blocks to an action that are taken, or about to be taken or returned. */
  public void forEachTaken(Consumer<PooledBlock> action) {
    counters.forEach(
        block -> {
          if (!block.isIdle()) {
            action.accept(block);
          }
        });
  }

  /** Returns whether a thread is allocating or freeing a block now. */
  public boolean isBusy() {
    return calls.get() > 0;
  }

  /** Returns the statistics. Takes some microseconds, and more with many blocks. */
  public PoolStatistics statistics() {
    return counters.statistics(name);
  }

  /** Frees idle blocks. Blocks that are returned later are freed at once. Idempotent. */
  @Override
  public void close() {
    closed = true;
    trim();
  }

  private static long checkedAlignment(long alignment) {
    if (alignment < 1 || Long.bitCount(alignment) != 1) {
      throw new IllegalArgumentException(
          "an alignment of " + alignment + " bytes was asked for; it is a power of two");
    }
    return alignment;
  }
}
