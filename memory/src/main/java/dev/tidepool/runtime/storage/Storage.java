package dev.tidepool.runtime.storage;

import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.diagnostics.BufferMetrics;
import dev.tidepool.runtime.metering.BufferCounters;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.order.UseState;
import dev.tidepool.runtime.storage.HoldCounts.Hold;
import dev.tidepool.runtime.threads.KernelThreads;
import java.lang.foreign.MemorySegment;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of one allocation: which operations may use them, and in which order. Its {@link
 * StorageLifetime} frees them.
 *
 * <p><b>Ownership.</b> A storage owns its blocks. Handles hold storages; a storage holds no handle.
 *
 * <p><b>Locking.</b> The monitor guards the queue, the mappings and the lifetime. No thread moves
 * bytes or calls a driver while it holds the monitor. A thread that needs the monitors of several
 * storages takes them in the order of their numbers.
 */
public final class Storage extends PendingReleases.Link {
  /** How often a thread that waits for an operation checks whether the storage is lent. */
  private static final long LENT_CHECK_NANOS = 10_000_000;

  private final BufferCore core;
  private final StorageContext context;
  private final boolean writable;
  private final boolean exclusive;
  private final Coherence coherence;
  private final BufferCounters bufferCounters = new BufferCounters();

  private final HoldCounts holds = new HoldCounts(this);
  private final StorageLifetime lifetime;
  // Guarded by this.
  private @Nullable Throwable prefetchFailure;

  private final long createdNanos = System.nanoTime();
  private volatile long lastUse = createdNanos;

  // The tick of the last access that changed nothing. Racy: of concurrent writes one is lost.
  private int viewedTick;

  // Whether a suspension took the copy on the device, and no resumption brought it back.
  private volatile boolean suspended;

  /** What a new host view may do without an operation. Written under the monitor, read without. */
  private volatile View view = View.NONE;

  // The segment that in-place copies use. Assigned before they are allowed.
  private MemorySegment inPlace = MemorySegment.NULL;

  /** Which earlier views are still valid, because no operation was requested since. */
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
    this.lifetime = new StorageLifetime(this, coherence, holds);
  }

  /**
   * Returns whether a return from the spill file may give the storage a mapped block, because no
   * more memory can be page-locked then. The order of reads must allow for that from the beginning.
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

  /** Returns the counts of mappings, lendings and holds. */
  public HoldCounts holds() {
    return holds;
  }

  /** Returns the part that closes the storage and frees its blocks. */
  public StorageLifetime lifetime() {
    return lifetime;
  }

  public BufferCounters bufferCounters() {
    return bufferCounters;
  }

  public long lastUse() {
    return lastUse;
  }

  /** Returns whether even reads must be alone, because host and device use the block in turn. */
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

  /**
   * Returns whether an operation may run on the calling thread. A virtual thread must not block its
   * carrier.
   */
  public boolean runsHere() {
    return !Thread.currentThread().isVirtual() || (coherence.backing().isShared() && !exclusive);
  }

  /** Creates an operation that moves bytes; see {@link StorageContext#transfer}. */
  public Operation transfer(ResourceAccess use, Runnable body) {
    return context.transfer(List.of(use), body);
  }

  /** Admits an operation, or throws the reason why not; the monitor is held. */
  @Override
  public void check(ResourceAccess use, long nowNanos) {
    lifetime.checkOpen();
    if (!coherence.backing().isAlive()) {
      throw memoryEnded(null);
    }
    if (use.writes() && !writable) {
      throw new UnsupportedOperationException(
          this
              + " is for reading only: it was mapped or adopted for READ, or another library"
              + " exported it so; ask for READ_WRITE, copy it, or look at it by"
              + " asReadOnlySegment()");
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
    // Not in check(): operations that are not checked, such as a write-back, change the state too.
    view = View.NONE;
    if (use.purpose() == ResourceAccess.Purpose.LEND) {
      holds.lent(use.writes());
    }
  }

  /** Waits for an operation, but cancels it if the storage is lent before the operation starts. */
  public void awaitUnlessLent(Operation operation) {
    KernelThreads.whileReplaced(
        () -> {
          boolean waits = true;
          while (waits) {
            waits = !operation.await(LENT_CHECK_NANOS) && !(holds.isLent() && operation.cancel());
          }
        });
  }

  private IllegalStateException memoryEnded(@Nullable Throwable cause) {
    return new IllegalStateException(
        "the memory under "
            + this
            + " has ended: its arena was closed before the buffer; keep it open as long",
        cause);
  }

  /**
   * Returns the exception that users get for a failed operation. If the arena of the memory was
   * closed, Java's own message is no more than "closed".
   */
  @Override
  public Throwable explained(Throwable failure) {
    return failure instanceof IllegalStateException && !coherence.backing().isAlive()
        ? memoryEnded(failure)
        : failure;
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

  /** Counts an access that needs no operation. Reads the clock once a tick, because it is slow. */
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
   * Copies elements to or from an array, if the storage has no operations and its state does not
   * change.
   *
   * @return whether the elements were copied; if not, the caller requests an operation
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

  /** Returns whether the host's bytes may be used without an operation; the monitor is held. */
  private boolean isInPlace() {
    return isOpen()
        && queue().isIdle()
        && useState().isFree()
        && !holds.isMappingAsked()
        && prefetchFailure == null
        && coherence.isHostInPlace();
  }

  /**
   * Returns the host's bytes, if the storage has no operations and no bytes have to move; null if
   * the caller must request an operation.
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

  /** Allows the in-place accesses that are possible now; returns whether the caller's is one. */
  private boolean allowInPlace(boolean writing) {
    synchronized (this) {
      if (!isInPlace()) {
        return false;
      }
      inPlace = coherence.backing().host();
      useState()
          .allow(coherence.isReadableInPlace(), writable && coherence.state().isWritableInPlace());
      return useState().isAllowed(writing);
    }
  }

  /**
   * Takes over how the buffer was used before it had a storage. Called once, before other threads
   * see the storage.
   *
   * @param uses the number of copies
   * @param tick the tick of the last copy
   * @param seen whether a segment was handed out, through which the host may have written
   */
  void usedDormant(long uses, int tick, boolean seen) {
    if (seen) {
      holds.expose();
      coherence.state().hostWritten(0, byteSize());
    }
    if (uses > 0) {
      bufferCounters.accessed(uses);
      viewedTick = tick;
      // Never `createdNanos` itself, which means that the buffer was not used.
      lastUse = Math.min(createdNanos - 1, context.dormantRelease().nanosOf(tick));
    }
  }

  @Override
  public boolean isOpen() {
    return lifetime.isOpen();
  }

  /** Returns whether it is open, has no operations and does not move; the monitor is held. */
  @Override
  public boolean isIdle() {
    return isOpen() && isUnused();
  }

  /** Returns whether it is closed, has operations, or its bytes are being moved. */
  public boolean isBusy() {
    synchronized (this) {
      return !isIdle();
    }
  }

  /** Returns whether it is open and has no operations. Its bytes may be moving. */
  boolean isUnasked() {
    synchronized (this) {
      return isOpen() && queue().isIdle();
    }
  }

  /** Like {@link #isIdle}, but first waits while its bytes are moved. No monitor is held. */
  public boolean isIdleWhenMoved() {
    synchronized (this) {
      if (queue().isIdle()) {
        useState().awaitMoved();
      }
      return isIdle();
    }
  }

  /**
   * Returns whether a thread that waits for nothing allocates memory for it, moves its bytes, or
   * frees its memory. Meanwhile no list may show some of the memory.
   */
  public boolean isInTransit() {
    return useState().isLeaving()
        || (coherence.isMoving() && useState().others() == UseState.Users.GOING_ON);
  }

  /** Returns whether it is lent or mapped, which only the user can end. */
  public boolean isHeldForNow() {
    return holds.isMapped() || useState().isLent();
  }

  /** Returns whether no operation is queued, and no thread moves its bytes; the monitor is held. */
  boolean isUnused() {
    return queue().isIdle() && !useState().isMoving();
  }

  /** Lets nothing be done in place from now on; the monitor is held. */
  void stopInPlace() {
    useState().stop();
    view = View.NONE;
  }

  /** Records that a suspension took the copy on the device. */
  public void suspended() {
    suspended = true;
  }

  /** Records that a resumption brought the copy back. */
  public void resumed() {
    suspended = false;
  }

  /**
   * Returns whether a suspension took the copy on the device. The next use may have brought the
   * copy back.
   */
  public boolean isSuspended() {
    return suspended;
  }

  /**
   * Returns the host's bytes, to be handed out as a raw segment. From now on they stay where they
   * are. Called by the operation that has brought them to the host.
   */
  public MemorySegment exposing() {
    holds.expose();
    return coherence.backing().handedOut();
  }

  /** Records whether the next view needs an operation, after a raw segment was handed out. */
  public void exposed(boolean writing) {
    synchronized (this) {
      if (!isOpen() || !queue().isIdle()) {
        view = View.NONE;
      } else if (writing && coherence.isHostWritableEverywhere()) {
        view = View.WRITABLE;
      } else {
        view = coherence.isHostReadableEverywhere() ? View.READABLE : View.NONE;
      }
    }
  }

  /**
   * Keeps the memory until {@link #unhold}, even if the buffer is closed before. Blocks no
   * operation and moves no bytes.
   *
   * @param hold what is kept beside the memory
   * @throws IllegalStateException if the storage is closed
   */
  public void hold(Hold hold) {
    synchronized (this) {
      lifetime.checkOpen();
      holds.hold(hold);
    }
  }

  /** Ends a hold. The last one frees a storage that was closed. Does not wait. */
  public void unhold(Hold hold) {
    boolean frees;
    synchronized (this) {
      holds.unhold(hold);
      frees = lifetime.isFreedByLetGo();
    }
    letGo(frees);
  }

  /** After a user's hold has ended: frees the memory, or notifies requests that wait for memory. */
  private void letGo(boolean frees) {
    if (frees) {
      lifetime.release();
    } else {
      context.waiters().released(context.device(), this);
    }
  }

  /** Ends a mapping, or the attempt at one. The last one frees a storage that was closed. */
  public void mappingEnded(MapMode mode, boolean opened) {
    boolean frees;
    synchronized (this) {
      holds.mappingEnded(mode, opened);
      frees = lifetime.isFreedByLetGo();
    }
    letGo(frees);
  }

  /** Keeps the failure of a prefetch, which the next use throws. */
  public void prefetchFailed(Throwable failure) {
    synchronized (this) {
      prefetchFailure = failure;
    }
  }

  @Override
  public void operationStarted() {
    lifetime.operationStarted();
  }

  @Override
  public void operationEnded() {
    lifetime.operationEnded();
  }

  @Override
  public void resume() {
    lifetime.resume();
  }

  /** Runs a movement of the bytes, if no operation that has begun uses them. */
  public void moveIfUnused(Runnable move) {
    try {
      useState().moveIfUnused(move);
    } finally {
      context.waiters().released(context.device());
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
