package dev.tidepool.runtime.metering;

import dev.tidepool.ByteSize;
import dev.tidepool.diagnostics.PeakScope;
import dev.tidepool.pool.CacheLinePadding;
import dev.tidepool.pool.ThreadStripe;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A manager's counts of buffers. Thread-safe.
 *
 * <p><b>Tallies.</b> A total is the sum over the tallies of all stripes of threads. A platform
 * thread that finds its stripe's tally without an owner becomes its owner, and counts there with
 * plain writes, as the only writer. Other threads (virtual threads, and threads that share a
 * stripe) add to the shared half of that tally with atomic writes.
 *
 * <p><b>The peak</b> is exact although an allocation does not add up all tallies. Each tally has a
 * ceiling for its live bytes, and the ceilings together are no higher than the peak so far. A
 * thread that would exceed its ceiling adds up under the monitor, raises the peak if necessary, and
 * shares out the bytes that are left below it. (Bytes that another thread allocates at that moment
 * may be counted the next time, and a buffer counts until its close is over.)
 */
public final class AllocationCounters {
  private static final VarHandle OPEN;
  private static final VarHandle OWNER;
  private static final VarHandle OWN_FREED;
  private static final VarHandle OWN_ALLOCATIONS;
  private static final VarHandle OWN_FREES;
  private static final VarHandle OWN_BYTES;
  private static final VarHandle SHARED_FREED;
  private static final VarHandle SHARED_ALLOCATIONS;
  private static final VarHandle SHARED_FREES;
  private static final VarHandle SHARED_BYTES;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      OPEN = lookup.findVarHandle(Tally.class, "open", LeakGroup.Token.class);
      OWNER = lookup.findVarHandle(Tally.class, "owner", Owner.class);
      OWN_FREED = lookup.findVarHandle(Tally.class, "ownFreed", long.class);
      OWN_ALLOCATIONS = lookup.findVarHandle(Tally.class, "ownAllocations", long.class);
      OWN_FREES = lookup.findVarHandle(Tally.class, "ownFrees", long.class);
      OWN_BYTES = lookup.findVarHandle(Tally.class, "ownBytes", long.class);
      SHARED_FREED = lookup.findVarHandle(Tally.class, "sharedFreed", long.class);
      SHARED_ALLOCATIONS = lookup.findVarHandle(Tally.class, "sharedAllocations", long.class);
      SHARED_FREES = lookup.findVarHandle(Tally.class, "sharedFrees", long.class);
      SHARED_BYTES = lookup.findVarHandle(Tally.class, "sharedBytes", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /**
   * The thread that owns a tally. It is held weakly, so that a thread that has ended, and its class
   * loader, can be collected before another thread takes its place.
   */
  private static final class Owner extends WeakReference<Thread> {
    Owner(Thread thread) {
      super(thread);
    }

    boolean isAlive() {
      Thread thread = get();
      return thread != null && thread.isAlive();
    }
  }

  /**
   * The counts of a stripe of threads, and the leak group that its buffers join. Fields are
   * volatile where other threads read what the owner writes plainly.
   */
  @SuppressWarnings("UnusedVariable") // the padding
  public static final class Tally extends CacheLinePadding {
    private @Nullable Owner owner;

    // Written by the owner alone, so no other thread can read its own id here.
    private long ownerId;

    private LeakGroup.@Nullable Token open;

    // The owner's counts, written with release: a sum sees an allocation before its free.
    private long ownAllocations;
    private long ownFrees;
    private long ownBytes;
    private long ownFreed;

    private volatile long sharedAllocations;
    private volatile long sharedFrees;
    private volatile long sharedBytes;
    private volatile long sharedFreed;

    /** Up to so many live bytes, an allocation need not look at other tallies. */
    private volatile long ceiling;

    // Keeps the next tally on the heap a cache line away.
    long pad1;
    long pad2;
    long pad3;
    long pad4;
    long pad5;
    long pad6;
    long pad7;
    long pad8;

    /**
     * Returns the token of the leak group that buffers of these threads join; null if none is open.
     */
    LeakGroup.@Nullable Token open() {
      return (LeakGroup.Token) OPEN.getAcquire(this);
    }

    void open(LeakGroup.@Nullable Token token) {
      OPEN.setRelease(this, token);
    }

    private boolean isOwnedBy(Thread thread) {
      return ownerId == thread.threadId();
    }

    private long allocatedBytes() {
      return (long) OWN_BYTES.getAcquire(this) + sharedBytes;
    }

    private long freedBytes() {
      return (long) OWN_FREED.getAcquire(this) + sharedFreed;
    }

    private long live() {
      return allocatedBytes() - freedBytes();
    }
  }

  private final LongAdder evictions = new LongAdder();
  private final LongAdder leaks = new LongAdder();
  private final LongAdder lostResults = new LongAdder();
  // No adders, which may allocate: these count while only the calling thread has the block.
  private final AtomicLong misses = new AtomicLong();
  // Blocks that were taken, less buffers that were allocated.
  private final AtomicLong furtherBlocks = new AtomicLong();
  private final Tally[] tallies;

  private static final class Peak {
    long bytes;
  }

  // The manager's, and behind it those of open scopes: a later one began later, so it is no higher.
  // Guarded by this, and so is what they hold.
  private final List<Peak> peaks = new ArrayList<>(List.of(new Peak()));

  public AllocationCounters() {
    tallies = new Tally[ThreadStripe.stripes(Runtime.getRuntime().availableProcessors())];
    for (int i = 0; i < tallies.length; i++) {
      tallies[i] = new Tally();
    }
  }

  public Tally of(Thread thread) {
    return tallies[ThreadStripe.of(thread, tallies.length)];
  }

  void forEachTally(Consumer<Tally> action) {
    for (Tally tally : tallies) {
      action.accept(tally);
    }
  }

  public void allocated(long bytes) {
    Thread thread = Thread.currentThread();
    allocated(of(thread), thread, bytes);
  }

  /** Counts an allocation, for a caller that has its thread's tally at hand. */
  public void allocated(Tally tally, Thread thread, long bytes) {
    if (tally.isOwnedBy(thread)) {
      OWN_ALLOCATIONS.setRelease(tally, tally.ownAllocations + 1);
      OWN_BYTES.setRelease(tally, tally.ownBytes + bytes);
    } else {
      allocatedByOther(tally, thread, bytes);
    }
    if (tally.live() > tally.ceiling) {
      raise(tally);
    }
  }

  private static void allocatedByOther(Tally tally, Thread thread, long bytes) {
    if (adopts(tally, thread)) {
      OWN_ALLOCATIONS.setRelease(tally, tally.ownAllocations + 1);
      OWN_BYTES.setRelease(tally, tally.ownBytes + bytes);
    } else {
      SHARED_ALLOCATIONS.getAndAdd(tally, 1L);
      SHARED_BYTES.getAndAdd(tally, bytes);
    }
  }

  public void freed(long bytes) {
    Thread thread = Thread.currentThread();
    Tally tally = of(thread);
    if (tally.isOwnedBy(thread)) {
      OWN_FREES.setRelease(tally, tally.ownFrees + 1);
      OWN_FREED.setRelease(tally, tally.ownFreed + bytes);
    } else {
      freedByOther(tally, bytes);
    }
  }

  private static void freedByOther(Tally tally, long bytes) {
    SHARED_FREES.getAndAdd(tally, 1L);
    SHARED_FREED.getAndAdd(tally, bytes);
  }

  /** Makes a platform thread the owner of a tally without a live owner. */
  private static boolean adopts(Tally tally, Thread thread) {
    Owner owner = (Owner) OWNER.getAcquire(tally);
    if (thread.isVirtual() || (owner != null && owner.isAlive())) {
      return false;
    }
    Owner fresh;
    try {
      fresh = new Owner(thread);
    } catch (OutOfMemoryError e) {
      // The caller has taken a block, which must not be lost; it counts as a further thread.
      return false;
    }
    if (!OWNER.compareAndSet(tally, owner, fresh)) {
      return false;
    }
    tally.ownerId = thread.threadId();
    return true;
  }

  /** Lets a tally through its ceiling. */
  private synchronized void raise(Tally through) {
    long live = 0;
    for (Tally tally : tallies) {
      live += tally.live();
    }
    reached(live);
    long room = peaks.getLast().bytes - live;
    for (Tally tally : tallies) {
      // Half of the bytes go to the tally that needed them, the rest to all.
      tally.ceiling = tally.live() + (tally == through ? room / 2 : room / 2 / tallies.length);
    }
  }

  /** Another block was taken than that of a new buffer. */
  public void took() {
    furtherBlocks.incrementAndGet();
  }

  /** A new buffer has no block. */
  public void adopted() {
    furtherBlocks.decrementAndGet();
  }

  /** The driver had to be asked for a block that was taken. */
  public void missed() {
    misses.incrementAndGet();
  }

  public void evicted() {
    evictions.increment();
  }

  public void leaked() {
    leaks.increment();
  }

  public void lostResult() {
    lostResults.increment();
  }

  public long allocations() {
    return sum(tally -> (long) OWN_ALLOCATIONS.getAcquire(tally) + tally.sharedAllocations);
  }

  public long frees() {
    return sum(tally -> (long) OWN_FREES.getAcquire(tally) + tally.sharedFrees);
  }

  /** Bytes of all buffers ever allocated; no less than {@link #freedBytes} if read after it. */
  public long allocatedBytes() {
    return sum(Tally::allocatedBytes);
  }

  /** Bytes of all buffers that were ever freed. */
  public long freedBytes() {
    return sum(Tally::freedBytes);
  }

  /** Blocks that were idle in a pool when they were needed. */
  public long hits() {
    return Math.max(0, allocations() + furtherBlocks.get() - misses.get());
  }

  public long misses() {
    return misses.get();
  }

  public long evictions() {
    return evictions.sum();
  }

  public long leaks() {
    return leaks.sum();
  }

  public long lostResults() {
    return lostResults.sum();
  }

  /** Returns the bytes in live buffers. Never returns less than 0, though others change the sum. */
  public long live() {
    return Math.max(0, sum(Tally::live));
  }

  /** Records that this many bytes were live at one time. */
  private void reached(long live) {
    // By index: an iterator would be an object, and an allocation must not make one here.
    for (int i = 0; i < peaks.size(); i++) {
      Peak peak = peaks.get(i);
      peak.bytes = Math.max(peak.bytes, live);
    }
  }

  /**
   * Returns the most bytes that were live.
   *
   * @param seen live bytes that the caller has seen, below which the peak must not fall
   */
  public synchronized long peak(long seen) {
    Peak peak = peaks.getFirst();
    peak.bytes = Math.max(peak.bytes, seen);
    return peak.bytes;
  }

  /** Returns a peak that begins at what is live now. */
  public PeakScope pushPeak(String name) {
    Peak peak = new Peak();
    synchronized (this) {
      peak.bytes = live();
      reached(peak.bytes);
      peaks.add(peak);
      for (Tally tally : tallies) {
        // The next thread that allocates adds up, and shares out what is left below the new peak.
        tally.ceiling = tally.live();
      }
    }
    return new Scope(name, peak);
  }

  private synchronized long peak(Peak asked) {
    if (peaks.contains(asked)) {
      reached(live());
    }
    return asked.bytes;
  }

  /** Ends a scope. Ceilings need no change: those below a lower peak are below the others too. */
  private synchronized void pop(Peak ended) {
    if (peaks.contains(ended)) {
      reached(live());
      peaks.remove(ended);
    }
  }

  private final class Scope implements PeakScope {
    private final String name;
    private final Peak peak;

    Scope(String name, Peak peak) {
      this.name = name;
      this.peak = peak;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public long peakBytes() {
      return peak(peak);
    }

    @Override
    public void close() {
      pop(peak);
    }

    @Override
    public String toString() {
      return "peak of '" + name + "': " + ByteSize.format(peakBytes());
    }
  }

  private long sum(ToLongFunction<Tally> figure) {
    long sum = 0;
    for (Tally tally : tallies) {
      sum += figure.applyAsLong(tally);
    }
    return sum;
  }
}
