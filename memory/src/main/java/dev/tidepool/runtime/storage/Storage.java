package dev.tidepool.runtime.storage;

import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.TransferException;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.diagnostics.BufferMetrics;
import dev.tidepool.runtime.metering.AllocationTrace;
import dev.tidepool.runtime.metering.BufferCounters;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.OrderedOperation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.order.UseState;
import dev.tidepool.runtime.storage.HoldCounts.Hold;
import dev.tidepool.runtime.threads.KernelThreads;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.support.Uninterruptibly;
import java.lang.foreign.MemorySegment;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of one allocation: which operations may use them, in which order, and until when.
 *
 * <p><b>Ownership.</b> A storage owns its blocks and gives them back once: when it is closed, no
 * mapping is open, and all work that was asked for before is done. Handles hold storages; a storage
 * holds no handle.
 *
 * <p><b>Locking.</b> Its monitor guards its order of work, its mappings and its closing; it is held
 * for moments only, never while bytes move or a driver is called. The monitors of several storages
 * are taken in the order of their numbers.
 *
 * <p><b>Memory that outlives the buffer</b> (a caller's, a file's, other processes') has its newest
 * bytes when {@link #close} returns: the closing thread waits for the work ahead, brings back what
 * is newer on the device, and frees. All other closes wait for nothing.
 */
public final class Storage extends PendingReleases.Link {
  /** How often a thread that waits for work looks whether native code has the bytes. */
  private static final long LENT_CHECK_NANOS = 10_000_000;

  private final BufferCore core;
  private final StorageContext context;
  private final boolean writable;
  private final boolean exclusive;
  // Null unless the memory outlives the buffer.
  private final @Nullable WriteBack writeBack;
  private final Coherence coherence;
  private final BufferCounters bufferCounters = new BufferCounters();

  // Guarded by this; `closed` is also read without.
  private volatile boolean closed;
  private boolean leaked;
  // Whether it is closed and nothing but an open mapping or a hold keeps it from being freed.
  private boolean freeable;
  private boolean freed;
  private final HoldCounts holds = new HoldCounts(this);
  private @Nullable Throwable prefetchFailure;
  private @Nullable Operation release;
  private @Nullable AllocationTrace trace;

  // Written while the bytes are moved, when no work is under way; read by work.
  private boolean freedEarly;

  private final long createdNanos = System.nanoTime();
  private volatile long lastUse = createdNanos;

  // Written by each thread that takes a view again; of concurrent writes one is lost.
  private int viewedTick;

  // Whether a suspension took its memory on the device, and it was not brought back since.
  private volatile boolean suspended;

  // Whether its memory could not be given back yet, though nothing is under way any more.
  private volatile boolean unfreed;

  /** What the next host view may do without work. Set under the monitor, read without. */
  private volatile View view = View.NONE;

  // What copies in place read and write, while they are allowed; set before that.
  private MemorySegment inPlace = MemorySegment.NULL;

  /** Which views are still what a new one would be, because nothing has been asked for since. */
  private enum View {
    NONE,
    READABLE,
    WRITABLE
  }

  public Storage(BufferCore core, BackingBlocks backing, boolean writable) {
    this.core = core;
    this.context = core.context();
    this.writable = writable;
    this.exclusive = backing.isMapped() || mayReturnMapped(core, backing);
    this.coherence = new Coherence(this, context, backing, core.initialState());
    this.writeBack =
        backing.outlivesBuffer()
            ? new WriteBack(this, context, coherence::writeBack, this::lost)
            : null;
  }

  /**
   * Returns whether it may come back from the spill file in a mapped block, because no more could
   * be page-locked by then. The order of reads must allow for that from the beginning.
   */
  private static boolean mayReturnMapped(BufferCore core, BackingBlocks backing) {
    return backing.isShared()
        && backing.isHostOwned()
        && core.location() == MemoryLocation.PINNED
        && core.context().spilling() != null
        && core.context().device().info().can(Capability.PINNED_MEMORY)
        && !(core.context().device() instanceof CpuDevice);
  }

  public BufferCore core() {
    return core;
  }

  @Override
  public StorageContext context() {
    return context;
  }

  public long byteSize() {
    return core.byteSize();
  }

  public Coherence coherence() {
    return coherence;
  }

  /** Returns what users hold of it. */
  public HoldCounts holds() {
    return holds;
  }

  public BufferCounters bufferCounters() {
    return bufferCounters;
  }

  public long lastUse() {
    return lastUse;
  }

  /**
   * Returns whether even reads must be alone, because host and device may take the block in turn.
   */
  @Override
  public boolean isExclusive() {
    return exclusive;
  }

  @Override
  public boolean isSpilled() {
    return coherence.isSpilled();
  }

  @Override
  public void provideMemory() {
    coherence.provideMemory();
  }

  /** Returns whether work on it may run on the calling thread: it must not block a carrier. */
  public boolean runsHere() {
    return !Thread.currentThread().isVirtual() || (coherence.backing().isShared() && !exclusive);
  }

  /** Creates an operation that moves bytes of it, as {@link StorageContext#transfer} does. */
  public Operation transfer(ResourceAccess use, Runnable body) {
    return context.transfer(List.of(use), body);
  }

  /** Lets work in that is asked for now, or says why not; the monitor is held. */
  @Override
  public void check(ResourceAccess use, long nowNanos) {
    checkOpen();
    if (!coherence.backing().isAlive()) {
      throw memoryEnded(null);
    }
    if (use.writes() && !writable) {
      throw new UnsupportedOperationException(
          this
              + " is for reading only: it was mapped or adopted for READ, or another library"
              + " exported it so; ask for READ_WRITE, or copy it");
    }
    String conflict = holds.conflict(use.purpose(), use.writes(), exclusive);
    if (conflict != null) {
      throw new IllegalStateException(this + conflict);
    }
    if (prefetchFailure != null) {
      Throwable failure = prefetchFailure;
      prefetchFailure = null;
      throw Exceptions.unchecked(failure);
    }
    switch (use.purpose()) {
      case MAP_TO_READ -> holds.mappingAsked(MapMode.READ);
      case MAP_TO_WRITE -> holds.mappingAsked(MapMode.WRITE);
      case ACCESS, DEVICE, MOVE, LEND -> {}
    }
    lastUse = nowNanos;
  }

  @Override
  public void entered(ResourceAccess use) {
    // Here, because work that is not checked, such as a write-back, changes the state as well.
    view = View.NONE;
    if (use.purpose() == ResourceAccess.Purpose.LEND) {
      holds.lent(use.writes());
    }
  }

  /** Waits for the end of work on it; takes the work back if native code has the bytes first. */
  public void awaitUnlessLent(Operation operation) {
    KernelThreads.whileReplaced(
        () -> {
          boolean waits = true;
          while (waits) {
            waits = !operation.await(LENT_CHECK_NANOS) && !(holds.isLent() && operation.cancel());
          }
        });
  }

  /** Waits until it is freed, if it was closed and its bytes outlive it. */
  public void awaitClosed() {
    boolean waits;
    synchronized (this) {
      waits = closed && writeBack != null && mayWait(writeBack);
    }
    if (waits) {
      KernelThreads.whileReplaced(this::awaitFreed);
    }
  }

  private IllegalStateException memoryEnded(@Nullable Throwable cause) {
    return new IllegalStateException(
        "the memory under "
            + this
            + " has ended: its arena was closed before the buffer; keep it open as long",
        cause);
  }

  /**
   * Returns what users see of a failure of work on this storage. Java says no more than "closed" of
   * memory whose arena was closed under the work.
   */
  @Override
  public Throwable explained(Throwable failure) {
    return failure instanceof IllegalStateException && !coherence.backing().isAlive()
        ? memoryEnded(failure)
        : failure;
  }

  /** Fails if the storage is closed. */
  void checkOpen() {
    if (closed) {
      throw core.closed();
    }
  }

  /**
   * Returns true if the last writable view of the whole buffer is still valid; counts an access
   * then.
   */
  public boolean viewsAgain() {
    return view == View.WRITABLE && viewed();
  }

  /** Like {@link #viewsAgain}, for a reading view. */
  public boolean readsViewAgain() {
    return view != View.NONE && viewed();
  }

  /**
   * Counts an access that needs no work. The clock is read once a tick: it costs more than that.
   */
  private boolean viewed() {
    bufferCounters.viewed();
    int tick = context.tick();
    if (tick != viewedTick) {
      viewedTick = tick;
      lastUse = System.nanoTime();
    }
    return true;
  }

  /**
   * Copies elements to or from an array at once, if nothing is asked of the storage and its state
   * stays as it is.
   *
   * @return whether it did; if not, nothing has happened, and the caller asks for work
   */
  public <A> boolean copyInPlace(
      boolean writing, ElementType<A> type, A array, int start, long at, int count) {
    if (!useState().enterInPlace(writing)
        && !(allowInPlace(writing) && useState().enterInPlace(writing))) {
      return false;
    }
    try {
      if (writing) {
        type.write(array, start, inPlace, at, count);
      } else {
        type.read(inPlace, at, array, start, count);
      }
      viewed();
    } finally {
      useState().leaveInPlace(writing);
    }
    return true;
  }

  /** Returns whether the host's bytes may be used without work; the monitor is held. */
  private boolean isInPlace() {
    return !closed
        && queue().isIdle()
        && useState().isFree()
        && !holds.isMappingAsked()
        && prefetchFailure == null
        && coherence.isHostInPlace();
  }

  /**
   * Hands out the host's bytes at once, if nothing is asked of the storage and no bytes have to
   * move; null if the caller must ask for work.
   */
  public @Nullable MemorySegment viewInPlace(long from, long to, boolean writing) {
    synchronized (this) {
      if (!isInPlace() || (writing && !writable)) {
        return null;
      }
      useState().stop();
      MemorySegment host = coherence.viewInPlace(from, to, writing);
      if (host != null) {
        holds.expose();
        view = View.NONE;
        lastUse = System.nanoTime();
      }
      return host;
    }
  }

  /** Allows what can be done in place now; whether that is what the caller needs. */
  private boolean allowInPlace(boolean writing) {
    synchronized (this) {
      if (!isInPlace()) {
        return false;
      }
      inPlace = coherence.backing().host();
      useState().allow(coherence.isReadableInPlace(), writable && coherence.isWritableInPlace());
      return useState().isAllowed(writing);
    }
  }

  /**
   * The buffer was used before it had a storage. Called once, before other threads know of this.
   *
   * @param uses how often
   * @param seen whether its bytes were handed out as a segment, to be written unless only the host
   *     has them
   */
  void usedDormant(long uses, int tick, boolean seen) {
    if (seen) {
      holds.expose();
      coherence.state().hostWritten(0, byteSize());
    }
    if (uses > 0) {
      bufferCounters.accessed(uses);
      viewedTick = tick;
      // Never `createdNanos` itself, which stands for a buffer that was not used.
      lastUse = Math.min(createdNanos - 1, context.releaser().nanosOf(tick));
    }
  }

  @Override
  public boolean isOpen() {
    return !closed;
  }

  /** Returns whether it is open and nothing is asked of it; the monitor is held. */
  @Override
  public boolean isIdle() {
    return !closed && isUnused();
  }

  /**
   * Returns whether work uses it or waits for it, or its bytes are being moved, or it is closed.
   */
  public boolean isBusy() {
    synchronized (this) {
      return !isIdle();
    }
  }

  /**
   * Returns whether it is open and nothing is asked of it, though its bytes may be on their way.
   */
  boolean isUnasked() {
    synchronized (this) {
      return !closed && queue().isIdle();
    }
  }

  /** Like {@link #isIdle}, after a movement of its bytes that is under way. No monitor is held. */
  public boolean isIdleWhenMoved() {
    synchronized (this) {
      if (queue().isIdle()) {
        useState().awaitMoved();
      }
      return isIdle();
    }
  }

  /**
   * Returns whether a thread that goes on takes memory for it right now, moves its bytes, or gives
   * its memory back. Meanwhile some of its memory may be seen nowhere.
   */
  public boolean isInTransit() {
    return useState().isLeaving()
        || (coherence.isMoving() && useState().others() == UseState.Users.GOING_ON);
  }

  /** Returns whether a user has its bytes until the user ends that: it is lent, or mapped. */
  public boolean isHeldForNow() {
    return holds.isMapped() || useState().isLent();
  }

  /** Returns whether no operation is queued, and no thread moves its bytes; the monitor is held. */
  private boolean isUnused() {
    return queue().isIdle() && !useState().isMoving();
  }

  /** A suspension has taken its memory on the device. */
  public void suspended() {
    suspended = true;
  }

  /** It has been brought back. */
  public void resumed() {
    suspended = false;
  }

  /**
   * Returns whether a suspension took its memory on the device, which its next use may have brought
   * back.
   */
  public boolean isSuspended() {
    return suspended;
  }

  /**
   * Returns the host's bytes to be handed out as a raw segment, by work in the queue that has
   * brought them there: from now on they stay.
   */
  public MemorySegment exposing() {
    holds.expose();
    return coherence.backing().handedOut();
  }

  /** Remembers whether the next view, after a raw segment was handed out, needs no work. */
  public void exposed(boolean writing) {
    synchronized (this) {
      if (closed || !queue().isIdle()) {
        view = View.NONE;
      } else if (writing && coherence.isHostWritableEverywhere()) {
        view = View.WRITABLE;
      } else {
        view = coherence.isHostReadableEverywhere() ? View.READABLE : View.NONE;
      }
    }
  }

  /**
   * Keeps the memory, and what the argument says, until {@link #unhold}, though the buffer may be
   * closed before. Keeps no work off and does not say where the bytes are.
   *
   * @throws IllegalStateException if the storage is closed
   */
  public void hold(Hold hold) {
    synchronized (this) {
      checkOpen();
      holds.hold(hold);
    }
  }

  /** Ends a hold; the last one frees what was closed meanwhile. Does not wait. */
  public void unhold(Hold hold) {
    boolean frees;
    synchronized (this) {
      holds.unhold(hold);
      frees = freeable && !holds.keepMemory();
    }
    letGo(frees);
  }

  /** A user has let the bytes go: frees them, or tells requests that wait for memory. */
  private void letGo(boolean frees) {
    if (frees) {
      release();
    } else {
      context.waiters().released(context.device(), this);
    }
  }

  /** Ends a mapping, or the attempt at one. The last one frees what was closed meanwhile. */
  public void mappingEnded(MapMode mode, boolean opened) {
    boolean frees;
    synchronized (this) {
      holds.mappingEnded(mode, opened);
      frees = freeable && !holds.keepMemory();
    }
    letGo(frees);
  }

  /** Keeps a prefetch's failure for the next use. */
  public void prefetchFailed(Throwable failure) {
    synchronized (this) {
      prefetchFailure = failure;
    }
  }

  /**
   * Closes; frees once work and mappings end. Whether it was open. Waits only for memory that
   * outlives the buffer.
   *
   * @throws dev.tidepool.TransferException if the newest bytes of such memory are lost; all is
   *     freed then
   */
  boolean close() {
    return writeBack == null ? closeWithoutWaiting() : closeAfter(writeBack);
  }

  private boolean closeWithoutWaiting() {
    boolean frees;
    boolean freesAtOnce;
    synchronized (this) {
      if (closed) {
        return false;
      }
      useState().stop();
      closed = true;
      freeable = true;
      view = View.NONE;
      frees = !holds.keepMemory();
      freesAtOnce = frees && isUnused() && context.releaser().mayFreeOnThisThread(this);
      if (freesAtOnce) {
        useState().close();
      }
    }
    if (freesAtOnce) {
      free();
    } else if (frees) {
      release();
    }
    return true;
  }

  private boolean closeAfter(WriteBack back) {
    StackReserve.check();
    Operation atClose = back.atClose();
    boolean first;
    boolean waits;
    synchronized (this) {
      first = !closed;
      waits = mayWait(back);
      if (first) {
        useState().stop();
        closed = true;
        view = View.NONE;
        back.closing(coherence.backing().isDeviceForeign() && holds.isHostWritten());
      }
    }
    if (!first) {
      if (waits) {
        KernelThreads.whileReplaced(this::awaitFreed);
      }
      return false;
    }
    @Nullable TransferException lost = null;
    try {
      if (waits) {
        lost = back.perform(atClose, runsHere());
      } else {
        // Inside of work on this very buffer, which would wait for itself, or while it is lent.
        back.request(atClose);
      }
    } finally {
      writeBackEnded(waits);
    }
    if (lost != null) {
      throw lost;
    }
    return true;
  }

  /** Tells of bytes that could not be brought back. */
  private TransferException lost(Throwable failure) {
    return context
        .lostResults()
        .tell(
            core.info(),
            toString(),
            coherence.missingBytes(),
            coherence.backing().isDeviceForeign(),
            failure);
  }

  /** The newest bytes are where they belong, or are lost: frees unless a mapping is open. */
  private void writeBackEnded(boolean waits) {
    boolean frees;
    synchronized (this) {
      freeable = true;
      frees = !holds.keepMemory();
      notifyAll();
    }
    if (frees) {
      release();
      if (waits) {
        KernelThreads.whileReplaced(this::awaitFreed);
      }
    }
  }

  /** Returns whether the calling thread may wait until it is freed; the monitor is held. */
  private boolean mayWait(WriteBack back) {
    // What frees it comes behind nothing before it has entered.
    return !holds.isLent()
        && back.mayWait(
            release != null && release.hasEntered() ? List.of(release) : queue().tail());
  }

  /** Waits until another thread has closed it. An interrupt stays set. */
  private void awaitFreed() {
    Uninterruptibly.await(this, () -> freed || (freeable && holds.keepMemory()));
  }

  /** The calling thread runs work on it. Recorded only for memory that outlives the buffer. */
  @Override
  public void operationStarted() {
    if (writeBack != null) {
      writeBack.operationStarted();
    }
  }

  /** The calling thread has run the work. */
  @Override
  public void operationEnded() {
    if (writeBack != null) {
      writeBack.operationEnded();
    }
  }

  /** Returns whether its bytes are still there when it is closed. */
  public boolean isOutlived() {
    return writeBack != null;
  }

  /**
   * Brings what the device has newer to memory that outlives the buffer, unless that is done by the
   * thread that closes it.
   *
   * @throws RuntimeException what that failed with
   */
  public void writeBackIfOpen() {
    if (writeBack != null) {
      writeBack.performIfOpen(runsHere());
    }
  }

  /**
   * Closes because no handle is left. No mapping can be in use any more, because its segment holds
   * the handle. Whether it was open.
   */
  boolean reclaim() {
    boolean wasOpen;
    boolean frees;
    synchronized (this) {
      useState().stop();
      wasOpen = !closed;
      // What holds the memory holds a handle too, so that none does here.
      frees = wasOpen || (freeable && holds.isMappingAsked());
      closed = true;
      freeable |= wasOpen;
      leaked = true;
      coherence.backing().abandon();
      view = View.NONE;
      holds.forgetMappings();
    }
    if (frees) {
      release();
    }
    return wasOpen;
  }

  /**
   * Enters the operation that gives the memory back. If the heap is full now, the maintenance
   * thread does so later.
   */
  private void release() {
    context.releaser().pending().add(this);
    try {
      resume();
    } catch (VirtualMachineError e) {
      leaveUnfinished();
    }
  }

  @Override
  public void resume() {
    if (unfreed) {
      freeNow();
      unfreed = false;
      return;
    }
    boolean here;
    Operation operation;
    Operation late;
    synchronized (this) {
      late = writeBack == null ? null : writeBack.late();
      if (release == null) {
        release =
            Operation.always(this, context.transferThreads(), this::free).failing(_ -> freeLater());
      }
      operation = release;
      here = !useState().isMoving() && context.releaser().mayFreeOnThisThread(this);
    }
    if (late != null && !late.hasEntered()) {
      late.release(false);
    }
    if (!operation.hasEntered()) {
      operation.release(here);
    }
  }

  /** Writes the allocation down, and the free when it comes; nothing if the storage is closed. */
  public void record(AllocationTrace trace) {
    synchronized (this) {
      if (!closed) {
        trace.allocated(number(), byteSize(), core.location());
        this.trace = trace;
      }
    }
  }

  /** Moves the bytes if no work under way uses them. */
  public void moveIfUnused(Runnable move) {
    try {
      useState().moveIfUnused(move);
    } finally {
      context.waiters().released(context.device());
    }
  }

  private void recordFree() {
    AllocationTrace recording;
    synchronized (this) {
      recording = trace;
    }
    if (recording != null) {
      // Before the memory goes, or its next owner would stand in front of this line.
      recording.freed(number());
    }
  }

  /**
   * Returns whether it is closed, and nothing wants its bytes any more, but no thread has come to
   * give its memory back.
   */
  public boolean isFreePending() {
    Operation freeing;
    synchronized (this) {
      freeing = closed && !holds.keepMemory() ? release : null;
    }
    return freeing != null && freeing.isItsTurn();
  }

  /**
   * Gives the memory back here and now if it {@linkplain #isFreePending waits} for another thread
   * to do so; whether it did.
   */
  public boolean freeEarly() {
    boolean[] frees = new boolean[1];
    moveIfUnused(
        () -> {
          frees[0] = isFreePending();
          if (frees[0]) {
            freeNow();
            freedEarly = true;
          }
        });
    return frees[0];
  }

  /** Gives the memory back. No operation is under way, and none enters any more. Never throws. */
  private void free() {
    try {
      freeNow();
    } catch (VirtualMachineError e) {
      freeLater();
    }
  }

  /** Leaves it to the maintenance thread to give the memory back. */
  private void freeLater() {
    unfreed = true;
    leaveUnfinished();
  }

  private void freeNow() {
    freeBlocks();
    if (isOutlived()) {
      synchronized (this) {
        freed = true;
        notifyAll();
      }
    }
  }

  private void freeBlocks() {
    context.releaser().pending().remove(this);
    useState().close();
    if (freedEarly) {
      return;
    }
    long missing = isOutlived() && isLeaked() ? coherence.missingBytes() : 0;
    if (missing > 0) {
      context.lostResults().tellUnreachable(core.info(), missing);
    }
    boolean clean = true;
    try {
      coherence.beforeFree();
      context.scrubber().overwrite(coherence.backing());
    } catch (RuntimeException | Error e) {
      clean = false;
      context.releaser().failed(this, e);
    }
    boolean seen;
    synchronized (this) {
      seen = holds.isExposed() && (leaked || context.isParanoid());
    }
    recordFree();
    context.releaser().free(this, clean && !seen, clean);
  }

  private boolean isLeaked() {
    synchronized (this) {
      return leaked;
    }
  }

  /**
   * Returns the work that others wait for at the end: what frees the storage, else what is under
   * way.
   */
  public List<OrderedOperation> unfinished() {
    synchronized (this) {
      Operation freeing = release;
      return freeing == null ? queue().tail() : List.of(freeing);
    }
  }

  /** Returns whether memory is still on its way back. */
  public boolean isClosing() {
    synchronized (this) {
      return closed && !holds.keepMemory();
    }
  }

  /** Returns whether it is closed, and an open mapping or a hold keeps its memory. */
  boolean awaitsMapping() {
    synchronized (this) {
      return closed && holds.keepMemory();
    }
  }

  public BufferMetrics metrics() {
    long used = lastUse;
    // Metrics make the storage of a buffer, which does not count as a use.
    long nanosAgo = used == createdNanos ? core.ageNanos() : System.nanoTime() - used;
    return bufferCounters.metrics(Instant.now().minusNanos(nanosAgo));
  }

  @Override
  public String toString() {
    return core.toString();
  }
}
