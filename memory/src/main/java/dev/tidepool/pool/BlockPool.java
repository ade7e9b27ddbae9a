package dev.tidepool.pool;

import dev.tidepool.spi.Block;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

/**
 * Blocks of one kind of memory, kept for reuse.
 *
 * <p>A request is rounded up to its size class and only served from that class: first from the
 * caller's stripe, then from the list that all threads share, then from the other stripes, and last
 * from the source. Above 1 GiB there are no classes: such blocks have exactly the size asked for
 * and are kept in one list. The way there and back that a steady state takes has no lock, allocates
 * the lease alone, and touches no memory that other threads write.
 *
 * <p>Ownership: a block is in exactly one place, a lease, a slot or a list, and whoever takes it
 * out owns it. No lock is held while a block is freed or allocated.
 *
 * <p>Safe for use by any thread, virtual ones too. Freeing an idle block may call the driver, on
 * the thread whose release reached a cap or which trims.
 */
public final class BlockPool implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(BlockPool.class.getName());

  private final String name;
  private final Source source;
  private final long alignment;
  private final long largestBlock;
  private final Limits limits;

  private final IdleBlocks idle;
  private final Ledger ledger = new Ledger();
  private final Object maintenance = new Object();
  private volatile boolean closed;

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
   * How much is kept.
   *
   * @param pooling whether anything is; if not, each block is allocated and freed for one lease
   * @param maxBytes of idle blocks in all
   * @param maxBytesPerClass of idle blocks in one size class; those above 1 GiB are one class
   * @param keptBytes of idle blocks that {@link #trimIdleSince} leaves however old they are
   * @param zeroOnRelease whether blocks that the host reaches directly are cleared before they are
   *     kept
   */
  public record Limits(
      boolean pooling,
      long maxBytes,
      long maxBytesPerClass,
      long keptBytes,
      boolean zeroOnRelease) {
    /** Checks that no limit is negative. */
    public Limits {
      if (maxBytes < 0 || maxBytesPerClass < 0 || keptBytes < 0) {
        throw new IllegalArgumentException(
            "limits of a pool are not negative, but these are "
                + maxBytes
                + " bytes in all, "
                + maxBytesPerClass
                + " in a class, "
                + keptBytes
                + " kept");
      }
    }
  }

  /**
   * A pool of blocks of any size; see {@link #BlockPool(String, Source, long, long, Limits)}.
   *
   * @param name what messages call it
   * @param source where blocks come from
   * @param alignment that every block has, in bytes, a power of two
   * @param limits how much is kept
   */
  public BlockPool(String name, Source source, long alignment, Limits limits) {
    this(name, source, alignment, Long.MAX_VALUE, limits);
  }

  /**
   * A pool for a source whose blocks have a largest size.
   *
   * @param name what messages call it
   * @param source where blocks come from
   * @param alignment that every block has, in bytes, a power of two
   * @param largestBlock what the source can give at most; sizes are not rounded up beyond it
   * @param limits how much is kept
   */
  public BlockPool(String name, Source source, long alignment, long largestBlock, Limits limits) {
    this.name = Objects.requireNonNull(name, "name");
    this.source = Objects.requireNonNull(source, "source");
    this.alignment = checkedAlignment(alignment);
    this.largestBlock = largestBlock;
    this.limits = limits;
    this.idle = new IdleBlocks(limits, this::evict);
  }

  /** What messages call it. */
  public String name() {
    return name;
  }

  /**
   * Leases a block of at least that many bytes, contents undefined.
   *
   * @param bytes at least 1
   * @param alignment a power of two; a block with more than the pool's is allocated for this lease
   *     alone
   * @throws dev.tidepool.OutOfDeviceMemoryException if no block is idle and the source has no room
   * @throws IllegalStateException if the pool is closed
   */
  public Lease acquire(long bytes, long alignment) {
    if (bytes < 1) {
      throw new IllegalArgumentException(
          bytes + " bytes were asked of the pool " + name + "; ask for at least 1");
    }
    if (closed) {
      throw new IllegalStateException(
          "the pool " + name + " is closed; its manager was closed before this request");
    }
    if (!limits.pooling || checkedAlignment(alignment) > this.alignment) {
      return allocate(bytes, Math.max(alignment, this.alignment), PooledBlock.NOT_KEPT);
    }
    if (bytes > SizeClasses.LARGEST) {
      return acquireBeyondClasses(bytes);
    }
    int sizeClass = SizeClasses.indexOf(bytes);
    PooledBlock block = idle.takeNear(sizeClass);
    return block != null ? leaseAgain(block) : acquireSlowly(bytes, sizeClass);
  }

  private Lease acquireSlowly(long bytes, int sizeClass) {
    long classBytes = SizeClasses.bytesOf(sizeClass);
    if (classBytes > largestBlock) {
      return acquireBeyondClasses(bytes);
    }
    PooledBlock block = idle.takeAny(sizeClass);
    return block != null ? leaseAgain(block) : allocate(classBytes, alignment, sizeClass);
  }

  private Lease acquireBeyondClasses(long bytes) {
    PooledBlock block = idle.takeBeyondClasses(bytes);
    return block != null
        ? leaseAgain(block)
        : allocate(bytes, alignment, IdleBlocks.BEYOND_CLASSES);
  }

  private Lease leaseAgain(PooledBlock block) {
    block.hits++;
    return new Lease(this, block);
  }

  private Lease allocate(long bytes, long blockAlignment, int sizeClass) {
    ledger.misses.increment();
    Block block = source.allocate(bytes, blockAlignment);
    PooledBlock pooled = new PooledBlock(block, bytes, sizeClass);
    ledger.allocated(pooled);
    if (block.byteSize() < bytes) {
      free(pooled);
      throw new IllegalStateException(
          "the source of " + name + " gave " + block.byteSize() + " bytes instead of " + bytes);
    }
    return new Lease(this, pooled);
  }

  /** Takes a block back from its lease. */
  void giveBack(PooledBlock block) {
    if (closed || block.sizeClass == PooledBlock.NOT_KEPT || !readyToKeep(block)) {
      free(block);
      return;
    }
    if (!idle.putNear(block)) {
      keep(block);
    }
    sweepIfClosed();
  }

  private void keep(PooledBlock block) {
    if (!idle.put(block)) {
      evict(block);
    }
  }

  private void evict(PooledBlock block) {
    ledger.evictions.increment();
    free(block);
  }

  /** For whoever just put a block down: the pool may have been closed, and swept before that. */
  private void sweepIfClosed() {
    if (closed) {
      trim();
    }
  }

  private boolean readyToKeep(PooledBlock block) {
    if (limits.zeroOnRelease) {
      try {
        block.zero();
      } catch (RuntimeException e) {
        LOG.log(System.Logger.Level.WARNING, "a block of " + name + " could not be cleared", e);
        return false;
      }
    }
    return true;
  }

  /** Frees a leased block. */
  void discard(PooledBlock block) {
    free(block);
  }

  void countRepeatedRelease() {
    ledger.repeatedReleases.increment();
  }

  /** The block is its caller's alone, and charged to nobody. */
  private void free(PooledBlock block) {
    ledger.freeing(block);
    try {
      block.block.free();
    } catch (RuntimeException e) {
      ledger.failedFrees.increment();
      LOG.log(
          System.Logger.Level.WARNING,
          "a block of " + block.bytes + " bytes of " + name + " could not be freed",
          e);
    }
  }

  /** Frees the blocks that are idle now; how many bytes that gave back. */
  public long trim() {
    long freed = 0;
    // What comes back meanwhile stays, or a busy pool would never be done.
    for (PooledBlock block : idleBlocks()) {
      if (idle.take(block)) {
        freed += block.bytes;
        free(block);
      }
    }
    idle.reclaimCredits();
    return trimmed(freed);
  }

  /**
   * Frees blocks that have been idle since before a time, least recently used first, while more
   * than the kept bytes are idle.
   *
   * <p>When a block became idle is not noted, which would cost more than the rest of a release. It
   * is known to have been idle since this method first saw it so: called at intervals, it frees a
   * block after one to two intervals without use, and never one that was used since the time given.
   *
   * @param nanoTime in terms of {@link System#nanoTime()}
   * @return how many bytes that gave back
   */
  public long trimIdleSince(long nanoTime) {
    synchronized (maintenance) {
      long now = System.nanoTime();
      long idleBytes = 0;
      List<PooledBlock> old = new ArrayList<>();
      for (PooledBlock block : idleBlocks()) {
        idleBytes += block.bytes;
        if (block.seenHits != block.hits) {
          block.seenHits = block.hits;
          block.seenNanos = now;
        }
        if (block.seenNanos - nanoTime <= 0) {
          old.add(block);
        }
      }
      return trimmed(freeOldest(old, idleBytes));
    }
  }

  private long freeOldest(List<PooledBlock> old, long idleBytes) {
    // Sorted by a copy of the ticks: other threads may go on using the blocks.
    record Aged(PooledBlock block, long tick) {}
    List<Aged> aged =
        old.stream()
            .map(block -> new Aged(block, block.idleTick))
            .sorted(Comparator.comparingLong(Aged::tick))
            .toList();
    long left = idleBytes;
    long freed = 0;
    for (Aged next : aged) {
      PooledBlock block = next.block();
      if (left <= limits.keptBytes) {
        break;
      }
      if (!idle.take(block)) {
        continue;
      }
      if (block.hits == block.seenHits) {
        left -= block.bytes;
        freed += block.bytes;
        free(block);
      } else {
        // Used since it was looked at: not old after all.
        keep(block);
        sweepIfClosed();
      }
    }
    return freed;
  }

  private long trimmed(long bytes) {
    if (bytes > 0) {
      ledger.trims.increment();
      ledger.trimmedBytes.add(bytes);
    }
    return bytes;
  }

  private List<PooledBlock> idleBlocks() {
    return ledger.hasEnrolled() ? idle.snapshot() : List.of();
  }

  /** Bytes that lie idle now. */
  public long idleBytes() {
    return idleBlocks().stream().mapToLong(block -> block.bytes).sum();
  }

  /** What it has and has done; takes some microseconds. */
  public PoolStatistics statistics() {
    List<PooledBlock> blocks = idleBlocks();
    return ledger.statistics(blocks.size(), blocks.stream().mapToLong(block -> block.bytes).sum());
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
