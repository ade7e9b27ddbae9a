package dev.tidepool.runtime.metering;

import dev.tidepool.ByteSize;
import dev.tidepool.diagnostics.PeakScope;
import dev.tidepool.pool.CacheLinePadding;
import dev.tidepool.pool.ThreadStripe;
import dev.tidepool.spi.support.FieldHandle;
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
 * thread that finds its stripe's tally without an owner becomes its owner. As the only writer it
 * counts there with release writes. Other threads (virtual threads, and threads that share a
 * stripe) add to the shared half of that tally with atomic writes.
 *
 * <p><b>The peak</b> is exact although an allocation does not add up all tallies. Each tally has a
 * ceiling for its live bytes, and the ceilings together are no higher than the peak so far. A
 * thread that exceeds its ceiling adds up all tallies under the monitor, raises the peak if
 * necessary, and distributes the bytes that are left below the peak. Bytes that another thread
 * allocates at that moment may be counted the next time. A buffer counts until its close is over.
 */
public final class AllocationCounters {
  private static final MethodHandles.Lookup TALLY = MethodHandles.lookup().in(Tally.class);
  private static final VarHandle OPEN = FieldHandle.of(TALLY, "open", LeakGroup.Token.class);
  private static final VarHandle OWNER = FieldHandle.of(TALLY, "owner", Owner.class);
  private static final VarHandle OWN_FREED = FieldHandle.of(TALLY, "ownFreed", long.class);
  private static final VarHandle OWN_ALLOCATIONS =
      FieldHandle.of(TALLY, "ownAllocations", long.class);
  private static final VarHandle OWN_FREES = FieldHandle.of(TALLY, "ownFrees", long.class);
  private static final VarHandle OWN_BYTES = FieldHandle.of(TALLY, "ownBytes", long.class);
  private static final VarHandle SHARED_FREED = FieldHandle.of(TALLY, "sharedFreed", long.class);
  private static final VarHandle SHARED_ALLOCATIONS =
      FieldHandle.of(TALLY, "sharedAllocations", long.class);
  private static final VarHandle SHARED_FREES = FieldHandle.of(TALLY, "sharedFrees", long.class);
  private static final VarHandle SHARED_BYTES = FieldHandle.of(TALLY, "sharedBytes", long.class);

  /**
   * The thread that owns a tally. The reference is weak, so that a thread that has ended, and its
   * class loader, can be collected before another thread becomes the owner.
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

  /** The counts of a stripe of threads, and the leak group that its buffers join. */
  @SuppressWarnings("UnusedVariable") // the padding
  public static final class Tally extends CacheLinePadding {
    private @Nullable Owner owner;

    // Written by the owner alone: no other thread can read its own id here.
    private long ownerId;

    private LeakGroup.@Nullable Token open;

    // The owner's counts, written with release: a sum that includes a free includes its allocation.
    private long ownAllocations;
    private long ownFrees;
    private long ownBytes;
    private long ownFreed;

    private volatile long sharedAllocations;
    private volatile long sharedFrees;
    private volatile long sharedBytes;
    private volatile long sharedFreed;

    /** An allocation reads other tallies only if it exceeds this number of live bytes. */
    private volatile long ceiling;

    // Keeps the next tally on another cache line.
    long pad1;
    long pad2;
    long pad3;
    long pad4;
    long pad5;
    long pad6;
    long pad7;
    long pad8;

    /** Returns the token of the leak group that new buffers join, or null if none is open. */
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
  // Not LongAdders, which may allocate: at that moment only the calling thread refers to the block.
  private final AtomicLong misses = new AtomicLong();
  // Blocks that were taken, minus buffers that were allocated.
  private final AtomicLong furtherBlocks = new AtomicLong();
  private final Tally[] tallies;

  private static final class Peak {
    long bytes;
  }

  // The manager's peak, then the peaks of open scopes. A later scope has no higher peak. The list
  // and its peaks are guarded by this.
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

  /** Counts an allocation. The caller has looked up its thread's tally already. */
  public void allocated(Tally tally, Thread thread, long bytes) {
    if (tally.isOwnedBy(thread) || adopts(tally, thread)) {
      OWN_ALLOCATIONS.setRelease(tally, tally.ownAllocations + 1);
      OWN_BYTES.setRelease(tally, tally.ownBytes + bytes);
    } else {
      allocatedByOther(tally, bytes);
    }
    if (tally.live() > tally.ceiling) {
      raise(tally);
    }
  }

  private static void allocatedByOther(Tally tally, long bytes) {
    SHARED_ALLOCATIONS.getAndAdd(tally, 1L);
    SHARED_BYTES.getAndAdd(tally, bytes);
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
      // The caller holds a block, which must not be lost. The thread counts in the shared half.
      return false;
    }
    if (!OWNER.compareAndSet(tally, owner, fresh)) {
      return false;
    }
    tally.ownerId = thread.threadId();
    return true;
  }

  /** Records the live bytes and sets the ceilings again, because an allocation exceeded one. */
  private synchronized void raise(Tally through) {
    long live = 0;
    for (Tally tally : tallies) {
      live += tally.live();
    }
    reached(live);
    long room = peaks.getLast().bytes - live;
    for (Tally tally : tallies) {
      // Half of the bytes go to the tally that exceeded its ceiling, the rest to all tallies.
      tally.ceiling = tally.live() + (tally == through ? room / 2 : room / 2 / tallies.length);
    }
  }

  /** Counts a block other than the one of a new buffer. */
  public void took() {
    furtherBlocks.incrementAndGet();
  }

  /** Counts a new buffer without a block. */
  public void adopted() {
    furtherBlocks.decrementAndGet();
  }

  /** Counts a block that the pool had to request from the driver. */
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

  /** Returns the bytes ever allocated; no less than {@link #freedBytes} if read after it. */
  public long allocatedBytes() {
    return sum(Tally::allocatedBytes);
  }

  /** Returns the bytes of all buffers ever freed. */
  public long freedBytes() {
    return sum(Tally::freedBytes);
  }

  /** Returns the number of blocks that were idle in a pool when they were needed. */
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

  /** Returns the bytes in live buffers, never less than 0 although other threads change them. */
  public long live() {
    return Math.max(0, sum(Tally::live));
  }

  /** Raises the peaks to this number of live bytes. */
  private void reached(long live) {
    // By index: an iterator would allocate, which an allocation must not do here.
    for (int i = 0; i < peaks.size(); i++) {
      Peak peak = peaks.get(i);
      peak.bytes = Math.max(peak.bytes, live);
    }
  }

  /**
   * Returns the largest number of live bytes so far.
   *
   * @param seen live bytes that the caller has read; the peak is at least as high
   */
  public synchronized long peak(long seen) {
    Peak peak = peaks.getFirst();
    peak.bytes = Math.max(peak.bytes, seen);
    return peak.bytes;
  }

  /** Opens a peak scope that begins with the bytes that are live now. */
  public PeakScope pushPeak(String name) {
    Peak peak = new Peak();
    synchronized (this) {
      peak.bytes = live();
      reached(peak.bytes);
      peaks.add(peak);
      for (Tally tally : tallies) {
        // The next allocation adds up all tallies and distributes the bytes below the new peak.
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

  /** Ends a scope. Ceilings below a lower peak are below the other peaks too, so they stay. */
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
