package dev.tidepool.runtime.storage;

import dev.tidepool.TransferException;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.KernelBody;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.OrderedOperation;
import dev.tidepool.runtime.order.OrderedResource;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Brings the newest bytes back to memory that outlives its buffer, before the storage frees its
 * blocks. Also decides which threads may wait for that: those that neither run operations of the
 * storage nor close it already.
 *
 * <p>It calls the storage through functions, so that the two form no cycle of classes.
 *
 * <p><b>Locking.</b> The fields are guarded by the storage's monitor, which each method takes. No
 * bytes move under it.
 */
final class WriteBack {
  private final OrderedResource storage;
  private final ManagerContext context;
  private final Runnable movement;
  private final Function<Throwable, TransferException> lost;
  // The threads that run operations of the storage, and the thread that closes it.
  private final List<Thread> runners = new ArrayList<>(1);
  private @Nullable Thread closer;
  // Whether the host may write after the close, so that a second write-back is needed; and its
  // operation.
  private boolean isLate;
  private @Nullable Operation late;

  /**
   * Creates the write-back of a storage.
   *
   * @param movement moves the bytes
   * @param lost reports why bytes could not be brought back; returns the exception to throw
   */
  WriteBack(
      OrderedResource storage,
      ManagerContext context,
      Runnable movement,
      Function<Throwable, TransferException> lost) {
    this.storage = storage;
    this.context = context;
    this.movement = movement;
    this.lost = lost;
  }

  /** Notes that the calling thread begins to run an operation of the storage. */
  void operationStarted() {
    synchronized (storage) {
      runners.add(Thread.currentThread());
    }
  }

  /** Notes that the calling thread has run the operation. */
  void operationEnded() {
    synchronized (storage) {
      runners.remove(Thread.currentThread());
    }
  }

  /**
   * Returns whether the calling thread may wait until operations have ended.
   *
   * @param ahead the last operations of the storage
   */
  boolean mayWait(List<OrderedOperation> ahead) {
    synchronized (storage) {
      Thread current = Thread.currentThread();
      return !current.equals(closer)
          && !runners.contains(current)
          && ahead.stream().allMatch(KernelBody::mayAwait);
    }
  }

  /**
   * Notes that the calling thread closes the storage.
   *
   * @param late whether the host may continue to write, through an open mapping or a hold
   */
  void closing(boolean late) {
    synchronized (storage) {
      closer = Thread.currentThread();
      isLate = late;
    }
  }

  /** Creates the operation of the closing thread. */
  Operation atClose() {
    return operation(this::move);
  }

  /**
   * Performs the operation of the closing thread and waits for it.
   *
   * @return the exception to throw if bytes are lost; else null
   */
  @Nullable TransferException perform(Operation atClose, boolean here) {
    Throwable failure;
    try {
      failure = atClose.performAlways(here);
    } catch (RuntimeException | Error e) {
      // The heap may be full.
      failure = e;
    }
    return failure == null ? null : lost.apply(failure);
  }

  /** Enters the operation of a closing thread that cannot wait for it now. */
  void request(Operation atClose) {
    try {
      atClose.failing(this::tell).release(false);
    } finally {
      synchronized (storage) {
        // The thread may wait later, when the bytes are no longer lent.
        closer = null;
      }
    }
  }

  /** Returns the write-back after the last user has ended; null if none is needed. */
  @Nullable Operation late() {
    synchronized (storage) {
      if (isLate && late == null) {
        late = operation(this::move).failing(this::tell);
      }
      return late;
    }
  }

  /**
   * Brings the bytes back and waits, unless the closing thread does so.
   *
   * @throws RuntimeException the failure of the write-back
   */
  void performIfOpen(boolean here) {
    Throwable failure =
        operation(
                () -> {
                  if (storage.isOpen()) {
                    move();
                  }
                })
            .performAlways(here);
    if (failure != null) {
      throw Exceptions.unchecked(failure);
    }
  }

  private void tell(Throwable failure) {
    var _ = lost.apply(failure);
  }

  private Operation operation(Runnable body) {
    return Operation.alwaysReading(storage, context.transferThreads(), body)
        .retrying(context.retries());
  }

  private void move() {
    try {
      movement.run();
    } catch (RuntimeException | Error e) {
      throw Exceptions.transfer(e, "writing back");
    }
  }
}
