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
 * <p>A request is rounded up to its size class and served from that class: first from the caller's
 * stripe, then from the list that all threads share, then from the other stripes; one of 64 KiB and
 * more then by an idle block of a class that is larger by an eighth at most; and last from the
 * source, before which idle blocks above the {@linkplain HighWater high-water mark} go back to it.
 * Blocks below 64 KiB are cut from slabs, so that one call of the driver brings many. Above 1 GiB
 * there are no classes: such blocks have exactly the size asked for. The way there and back that a
 * steady state takes has no lock, allocates nothing, and touches no memory that other threads
 * write.
 *
 * <p><b>Ownership.</b> A block has a place for life, in a stripe or on a shared list, and one word
 * of its own or one bit there says whether it is idle; the thread that changes that owns it. No
 * lock is held while a block is freed or allocated.
 *
 * <p><b>Giving back</b> never waits, never allocates and never throws. A block for which there is
 * no place is freed later: by the next miss, by {@link #drain}, or by the next trim.
 *
 * <p>Thread-safe, also for virtual threads.
 */
public final class MemoryPool extends PoolCallbacks implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(MemoryPool.class.getName());

  /** What every block is aligned to, in bytes. */
  private static final long ALIGNMENT = MemoryAllocator.SMALL_ALIGNMENT;

  private static final long FIRST_SLAB = 64L << 10;
  private static final long LARGEST_SLAB = 32L << 20;

  /** A slab is at most one part in so many of what the pool may keep, in all or in a class. */
  private static final int SLABS_IN_POOL = 16;

  /** A slab is one part in so many of those that its class has. */
  private static final int SLABS_IN_CLASS = 16;

  private final String name;
  private final Source source;
  private final long largestBlock;
  private final PoolLimits limits;
  private final boolean exact;
  private final boolean zeroesOnRelease;

  private final IdleBlocks idle;
  // Equals the field of `idle`; kept here to save one load.
  private final ThreadStripes stripes;
  private final PoolCounters counters = new PoolCounters();
  private final PendingFrees pendingFrees = new PendingFrees();
  private final Trimmer trimmer;
  private final SlabCompactor compactor;
  // Allocations, and frees, that are under way.
  private final AtomicInteger calls = new AtomicInteger();
  private final HighWater highWater;
  private final AtomicLongArray slabBytes = new AtomicLongArray(SizeClasses.CUT_COUNT);

  /** The slab that was cut last; races lose a doubling at most. */
  private volatile @Nullable Cut lastCut;

  /** Whether blocks of the source can be cut; known from the last small one. */
  private volatile boolean cuts;

  private volatile boolean closed;

  /** A slab of a class, in so many parts. */
  private record Cut(int sizeClass, int parts) {}

  /** Where blocks come from. */
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
   * @param name what messages call it
   * @param source where blocks come from
   * @param limits how much is kept
   */
  public MemoryPool(String name, Source source, PoolLimits limits) {
    this(name, source, Long.MAX_VALUE, limits);
  }

  /**
   * Creates a pool for a source whose blocks have a largest size.
   *
   * @param name what messages call it
   * @param source where blocks come from
   * @param largestBlock what the source can give at most; sizes are not rounded up beyond it
   * @param limits how much is kept
   */
  public MemoryPool(String name, Source source, long largestBlock, PoolLimits limits) {
    this(name, source, largestBlock, limits, false);
  }

  /**
   * Returns a pool that rounds no size: each block is as large as was asked for, and serves
   * requests for that size. For what is counted to the byte.
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

  /** Returns what messages call it. */
  @Override
  public String name() {
    return name;
  }

  /**
   * Leases a block of at least that many bytes, contents undefined.
   *
   * @param bytes at least 1
   * @param alignment a power of two; a block with more than 64 is allocated for this lease alone
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
   * Takes a block as {@link #acquire} does, without a lease. The caller gives the block back
   * exactly once, and sets its tenant by {@link PooledBlock#occupy}.
   *
   * @param pooled whether it may be one that was used before, and is kept afterwards
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
   * A block that the calling thread's stripe seems to have idle, for {@link PooledBlock#takeNear};
   * null if it has none, or the pool keeps none. Costs a nanosecond or two.
   *
   * @param bytes at least 0, which is served like 1
   */
  public @Nullable PooledBlock seenNear(long bytes) {
    return stripes.seen(SizeClasses.classOf(bytes));
  }

  /**
   * Takes a block from the list that all threads share; null if it has none, or the pool keeps
   * none.
   *
   * @param bytes at least 0, which is served like 1
   */
  public @Nullable PooledBlock takeShared(long bytes) {
    PooledBlock block =
        bytes > SizeClasses.LARGEST ? null : idle.takeShared(SizeClasses.classOf(bytes));
    return block == null ? null : again(block);
  }

  /**
   * Takes a block that the calling thread's stripe has idle, or the list that all share; null if
   * neither has one, or the pool keeps none. Costs some nanoseconds.
   *
   * @param bytes at least 0, which is served like 1
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
      // The heap may be full. The pool does not know the block yet, so it must be freed here.
      if (pooled != null) {
        idle.unsettle(pooled);
        counters.forget(pooled);
      }
      freeQuietly(block);
      throw e;
    }
  }

  /** Cuts a slab, or allocates one block where no slab is available. */
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
      // From now on nothing makes objects. The first is the caller's.
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
        // The source gave another kind of memory than before.
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

  /**
   * Returns whether host and device take a block in turn: it goes from one to the other as a whole.
   */
  private static boolean isMapped(Block block) {
    return block.hostAccess() == HostAccess.MAPPED;
  }

  /**
   * Slabs grow with what their class has, so that what lies idle of the last one stays a small part
   * of it. Where one class alone grows, one slab after another is for it, and they double.
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

  /** Asks the source; the caller counts as one of {@link #calls} until the block is enrolled. */
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

  /** {@link PooledBlock#giveBack}. */
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
      // Closed meanwhile, and swept before that.
      trim();
    }
  }

  /** {@link PooledBlock#endDormancyAtOnce}. */
  @Override
  boolean giveBackAtOnce(PooledBlock block, long number) {
    if (zeroesOnRelease || !idle.putDormant(block, number)) {
      return false;
    }
    if (closed) {
      // Closed meanwhile, and swept before that.
      trim();
    }
    return true;
  }

  @Override
  void discard(PooledBlock block) {
    block.vacated();
    end(block);
  }

  /** Ends a block that its caller owns; a part of a slab ends with its slab. */
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

  /** Takes over a block for which there is no room. */
  private void evict(PooledBlock block) {
    if (block.slab != null) {
      idle.putAnyway(block);
      return;
    }
    counters.evicted();
    counters.retired(block);
    pendingFrees.add(block);
  }

  /** Frees blocks for which there was no room when they came back. */
  public void drain() {
    // Parts of slabs are kept beyond the caps as long as their slab is in use.
    boolean evicting = idle.isOverfull();
    while (evicting) {
      evicting = evictSlab() && idle.isOverfull();
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
   * Frees the idle block that the policy names, or else the newest idle slab, whatever the policy;
   * false if there was none.
   */
  private boolean evictNow() {
    boolean evicted = idle.evictFirst() || evictSlab();
    drain();
    return evicted;
  }

  /** Queues the newest idle slab to be freed, by its first part; false if there was none. */
  private boolean evictSlab() {
    for (Slab slab = counters.slabs().first(); slab != null; slab = slab.next) {
      if (slab.isAllIdle() && slab.claim(idle)) {
        counters.evicted();
        counters.retired(slab);
        pendingFrees.add(slab.parts().getFirst());
        return true;
      }
    }
    return false;
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

  /** Frees what its caller owns. */
  private void free(Reclaimable claimed) {
    calls.incrementAndGet();
    try {
      freed(claimed);
    } finally {
      calls.decrementAndGet();
    }
  }

  private void freed(Reclaimable claimed) {
    // Not by a switch over the types: it takes memory the first time, and the claim would be lost.
    if (claimed instanceof PooledBlock block) {
      if (block.sizeClass != PooledBlock.NOT_KEPT) {
        idle.vacate(block);
      }
      // Before the memory goes, so that a block never seems to have two owners.
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
      // There is no room for the message either.
      return;
    }
  }

  /**
   * Frees the blocks that are idle now, slabs whose parts all are included; how many bytes that
   * gave back.
   */
  public long trim() {
    drain();
    highWater.restart();
    return trimmer.all();
  }

  /**
   * Frees what waits to be freed, and returns what is idle now and can go back to the source.
   *
   * @param wanted which of the source's blocks count
   */
  public List<ReclaimHandle> idlePieces(Predicate<Block> wanted) {
    drain();
    return trimmer.pieces(wanted);
  }

  /**
   * Frees blocks that have been idle since before a time, in the order of the policy, while more
   * than the kept bytes are idle. Where the policy is {@link
   * dev.tidepool.pooling.EvictionPolicy#TIME_TO_LIVE}, it frees idle blocks that were allocated
   * before that time.
   *
   * <p>When a block became idle is not noted, which would cost more than the rest of a release. It
   * is known to have been idle since this method first saw it so: called at intervals, it frees a
   * block after one to two intervals without use, and never one that was used since the time given.
   *
   * @param nanoTime in terms of {@link System#nanoTime()}
   * @return how many bytes that gave back
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
   * Moves what slabs hold together, so that some become idle, and gives those back. Allocations
   * never wait for it; what cannot be moved at once stays.
   *
   * @return how many bytes that gave back
   */
  public long compact(BlockMover mover) {
    // Counted, so that a manager does not end, and its device with it, under a pass.
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

  /** Idle bytes that cannot go back to the source, because other parts of their slab are in use. */
  public long boundBytes() {
    return counters.boundBytes();
  }

  /** Bytes that lie idle now. Looks at no block outside of the stripes. */
  public long idleBytes() {
    return idle.idleBytes();
  }

  /** Bytes of the largest idle block; 0 if none is idle. */
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

  /** Bytes that the source has given and not got back. */
  public long reservedBytes() {
    return counters.reservedBytes();
  }

  /** The most that {@link #reservedBytes} has been. */
  public long peakReservedBytes() {
    return counters.peakReservedBytes();
  }

  /** Shows all blocks, idle or taken. Stops no thread; a block may change hands meanwhile. */
  public void forEachBlock(Consumer<PooledBlock> action) {
    counters.forEach(action);
  }

  /** Passes all blocks, idle or taken, one by one; see {@link BlockCursor}. */
  public Iterator<PooledBlock> blocks() {
    return new BlockCursor(counters.singles(), counters.slabs());
  }

  /** Shows the blocks that are taken, or about to be taken or given back. */
  public void forEachTaken(Consumer<PooledBlock> action) {
    counters.forEach(
        block -> {
          if (!block.isIdle()) {
            action.accept(block);
          }
        });
  }

  /** Returns whether a thread allocates a block, or frees one, right now. */
  public boolean isBusy() {
    return calls.get() > 0;
  }

  /** Returns what it has and has done; takes some microseconds, and more with many blocks. */
  public PoolStatistics statistics() {
    return counters.statistics(name);
  }

  /** Frees what is idle; blocks that come back later are freed at once. Idempotent. */
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
