package dev.tidepool.runtime.storage;

import dev.tidepool.TransferException;
import dev.tidepool.runtime.metering.AllocationTrace;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.OrderedOperation;
import dev.tidepool.runtime.threads.KernelThreads;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Closes one storage and frees its blocks, once: when it is closed, no mapping or hold is left, and
 * all operations that were requested before have ended.
 *
 * <p><b>Memory that outlives the buffer</b> (a caller's, a file's, other processes') has its newest
 * bytes when {@link #close} returns: the closing thread waits for the operations ahead, copies what
 * is newer on the device to that memory, and frees the rest. All other closes wait for nothing.
 *
 * <p><b>Locking.</b> Guarded by the storage's monitor. No thread moves bytes or calls a driver
 * while it holds the monitor.
 */
public final class StorageLifetime {
  private final Storage storage;
  private final StorageContext context;
  private final Coherence coherence;
  private final HoldCounts holds;
  // Null unless the memory outlives the buffer.
  private final @Nullable WriteBack writeBack;

  // Also read without the monitor.
  private volatile boolean closed;
  // Whether no handle was left when it was closed.
  private boolean leaked;
  // Whether only a mapping or a hold can still keep the closed storage from being freed.
  private boolean freeable;
  private boolean freed;
  private @Nullable Operation release;
  private @Nullable AllocationTrace trace;

  // Written while the storage has no running operation; read by the operation that frees.
  private boolean freedEarly;

  // Whether an attempt to free the memory failed, so that the maintenance thread tries again.
  private volatile boolean unfreed;

  StorageLifetime(Storage storage, Coherence coherence, HoldCounts holds) {
    this.storage = storage;
    this.context = storage.context();
    this.coherence = coherence;
    this.holds = holds;
    this.writeBack =
        coherence.backing().outlivesBuffer()
            ? new WriteBack(storage, context, coherence::writeBack, this::lost)
            : null;
  }

  boolean isOpen() {
    return !closed;
  }

  /** Fails if the storage is closed. */
  void checkOpen() {
    if (closed) {
      throw storage.core().closed();
    }
  }

  /** Returns whether it is closed, and neither a mapping nor a hold keeps its memory. */
  public boolean isClosing() {
    synchronized (storage) {
      return closed && !holds.keepMemory();
    }
  }

  /** Returns whether it is closed, and an open mapping or a hold keeps its memory. */
  boolean awaitsMapping() {
    synchronized (storage) {
      return closed && holds.keepMemory();
    }
  }

  /** Records the allocation now and the free later. Does nothing if the storage is closed. */
  public void record(AllocationTrace recording) {
    synchronized (storage) {
      if (!closed) {
        recording.allocated(storage.number(), storage.byteSize(), storage.core().location());
        trace = recording;
      }
    }
  }

  /**
   * Closes the storage, which is freed when operations, mappings and holds have ended. Waits only
   * if the memory outlives the buffer.
   *
   * @return whether it was open
   * @throws TransferException if the newest bytes of such memory are lost; all is freed then
   */
  boolean close() {
    return writeBack == null ? closeWithoutWaiting() : closeAfter(writeBack);
  }

  private boolean closeWithoutWaiting() {
    boolean frees;
    boolean freesAtOnce;
    synchronized (storage) {
      if (closed) {
        return false;
      }
      storage.stopInPlace();
      closed = true;
      freeable = true;
      frees = !holds.keepMemory();
      freesAtOnce = frees && storage.isUnused() && mayFreeOnThisThread();
      if (freesAtOnce) {
        storage.useState().close();
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
    synchronized (storage) {
      first = !closed;
      waits = mayWait(back);
      if (first) {
        storage.stopInPlace();
        closed = true;
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
        lost = back.perform(atClose, storage.runsHere());
      } else {
        // An operation on this very buffer would wait for itself; or the buffer is lent.
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

  /** Reports bytes that could not be brought back. */
  private TransferException lost(Throwable failure) {
    return context
        .lostResults()
        .tell(
            storage.core().info(),
            storage.toString(),
            coherence.missingBytes(),
            coherence.backing().isDeviceForeign(),
            failure);
  }

  /** After the write-back, or its failure: frees the memory unless a mapping is open. */
  private void writeBackEnded(boolean waits) {
    boolean frees;
    synchronized (storage) {
      freeable = true;
      frees = !holds.keepMemory();
      storage.notifyAll();
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
    // An operation that has not entered yet waits for nothing.
    return !holds.isLent()
        && back.mayWait(
            release != null && release.hasEntered() ? List.of(release) : storage.queue().tail());
  }

  /** Waits until it is freed, if it is closed and the memory outlives the buffer. */
  public void awaitClosed() {
    boolean waits;
    synchronized (storage) {
      waits = closed && writeBack != null && mayWait(writeBack);
    }
    if (waits) {
      KernelThreads.whileReplaced(this::awaitFreed);
    }
  }

  /** Waits until another thread has freed it, or a mapping or hold keeps it. Not interruptible. */
  private void awaitFreed() {
    Uninterruptibly.await(storage, () -> freed || (freeable && holds.keepMemory()));
  }

  /** Records that the calling thread runs an operation, if the memory outlives the buffer. */
  void operationStarted() {
    if (writeBack != null) {
      writeBack.operationStarted();
    }
  }

  /** Records that the calling thread has run the operation. */
  void operationEnded() {
    if (writeBack != null) {
      writeBack.operationEnded();
    }
  }

  /**
   * Copies what is newer on the device to memory that outlives the buffer, unless the thread that
   * closes the storage does so.
   *
   * @throws RuntimeException the failure of the copy
   */
  void writeBackIfOpen() {
    if (writeBack != null) {
      writeBack.performIfOpen(storage.runsHere());
    }
  }

  /**
   * Closes the storage because no handle is reachable. No mapping can be in use, because its
   * segment would hold the handle.
   *
   * @return whether it was open
   */
  boolean reclaim() {
    boolean wasOpen;
    boolean frees;
    synchronized (storage) {
      storage.stopInPlace();
      wasOpen = !closed;
      // No hold exists either, because a hold keeps a handle reachable.
      frees = wasOpen || (freeable && holds.isMappingAsked());
      closed = true;
      freeable |= wasOpen;
      leaked = true;
      coherence.backing().abandon();
      holds.forgetMappings();
    }
    if (frees) {
      release();
    }
    return wasOpen;
  }

  /** Returns whether the hold that has just ended was the last; the monitor is held. */
  boolean isFreedByLetGo() {
    return freeable && !holds.keepMemory();
  }

  /**
   * Requests the operation that frees the memory. If the heap is full, the maintenance thread does
   * so later.
   */
  void release() {
    context.pendingReleases().add(storage);
    try {
      resume();
    } catch (VirtualMachineError e) {
      storage.leaveUnfinished();
    }
  }

  /** Requests the operation that frees the memory, or frees what could not be freed before. */
  void resume() {
    if (unfreed) {
      freeNow();
      unfreed = false;
      return;
    }
    boolean here;
    Operation operation;
    Operation late;
    synchronized (storage) {
      late = writeBack == null ? null : writeBack.late();
      if (release == null) {
        release =
            Operation.always(storage, context.transferThreads(), this::free)
                .failing(_ -> freeLater());
      }
      operation = release;
      here = !storage.useState().isMoving() && mayFreeOnThisThread();
    }
    if (late != null && !late.hasEntered()) {
      late.release(false);
    }
    if (!operation.hasEntered()) {
      operation.release(here);
    }
  }

  /** Returns whether blocks may go back on the calling thread, which must not block a carrier. */
  private boolean mayFreeOnThisThread() {
    return !Thread.currentThread().isVirtual()
        || context.scrubber().asksNothing(storage.isExclusive());
  }

  /**
   * Returns the operations whose end is the end of all: the one that frees the storage, else those
   * last in its queue.
   */
  public List<OrderedOperation> unfinished() {
    synchronized (storage) {
      Operation freeing = release;
      return freeing == null ? storage.queue().tail() : List.of(freeing);
    }
  }

  /** Returns whether the operation that frees the memory only waits for a thread. */
  public boolean isFreePending() {
    Operation freeing;
    synchronized (storage) {
      freeing = closed && !holds.keepMemory() ? release : null;
    }
    return freeing != null && freeing.isItsTurn();
  }

  /**
   * Frees the memory on the calling thread, if {@link #isFreePending}.
   *
   * @return whether the memory was freed
   */
  public boolean freeEarly() {
    boolean[] frees = new boolean[1];
    storage.moveIfUnused(
        () -> {
          frees[0] = isFreePending();
          if (frees[0]) {
            freeNow();
            freedEarly = true;
          }
        });
    return frees[0];
  }

  /** Frees the memory. No operation runs, and none can enter any more. Never throws. */
  private void free() {
    try {
      freeNow();
    } catch (VirtualMachineError e) {
      freeLater();
    }
  }

  /** Leaves it to the maintenance thread to free the memory. */
  private void freeLater() {
    unfreed = true;
    storage.leaveUnfinished();
  }

  private void freeNow() {
    context.pendingReleases().begin(storage);
    freeOnce();
    context.pendingReleases().remove(storage);
    if (writeBack != null) {
      synchronized (storage) {
        freed = true;
        storage.notifyAll();
      }
    }
  }

  private void freeOnce() {
    storage.useState().close();
    if (freedEarly) {
      return;
    }
    long missing = writeBack != null && isLeaked() ? coherence.missingBytes() : 0;
    if (missing > 0) {
      context.lostResults().tellUnreachable(storage.core().info(), missing);
    }
    boolean clean = true;
    try {
      coherence.beforeFree();
      context.scrubber().overwrite(coherence.backing());
    } catch (RuntimeException | Error e) {
      clean = false;
      failed(e);
    }
    boolean seen;
    AllocationTrace recording;
    synchronized (storage) {
      seen = holds.isExposed() && (leaked || context.isParanoid());
      recording = trace;
    }
    if (recording != null) {
      // Before the memory is freed, or the record of its next owner could come first.
      recording.freed(storage.number());
    }
    freeBlocks(clean && !seen, clean);
  }

  private boolean isLeaked() {
    synchronized (storage) {
      return leaked;
    }
  }

  /**
   * Inspects guard zones, takes the buffer out of the accounts, and then gives its blocks back.
   *
   * @param hostReusable whether what the host reaches may have another owner
   * @param deviceReusable whether the device's own memory may
   */
  private void freeBlocks(boolean hostReusable, boolean deviceReusable) {
    BufferCore core = storage.core();
    try {
      context.guards().inspect(coherence.backing(), core::info);
    } catch (RuntimeException | Error e) {
      failed(e);
    }
    context.ledger().freed(core.tag(), core.byteSize());
    try {
      coherence.backing().free(hostReusable, deviceReusable);
    } catch (RuntimeException | Error e) {
      failed(e);
    }
    storage.useState().freed();
    try {
      context.registry().gone(core);
      core.forgetMadeStorage();
      context.waiters().released(context.device());
      context.state().goOn();
    } catch (OutOfMemoryError e) {
      // All removals have happened. The maintenance thread checks again whether the manager ends.
      return;
    }
  }

  /** Logs a failure to free the memory, which no caller could handle. */
  private void failed(Throwable failure) {
    FailureLog.warn("the memory of ", storage, " could not be given back", failure);
  }
}
