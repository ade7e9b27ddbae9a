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
 * blocks. It also knows which threads may wait for that: those that neither run operations of the
 * storage nor close it already.
 *
 * <p>It calls the storage back by functions, so that the two form no cycle of classes.
 *
 * <p><b>Locking.</b> Guarded by the storage's monitor, which each method takes. No bytes move under
 * it.
 */
final class WriteBack {
  private final OrderedResource storage;
  private final ManagerContext context;
  private final Runnable movement;
  private final Function<Throwable, TransferException> lost;
  // The threads that run operations of the storage now, and the one that closes it.
  private final List<Thread> runners = new ArrayList<>(1);
  private @Nullable Thread closer;
  // Whether the host may write after the close, so that the bytes are brought back again later; and
  // the operation that does so.
  private boolean isLate;
  private @Nullable Operation late;

  /**
   * Creates it for a storage.
   *
   * @param movement moves the bytes
   * @param lost is told why bytes could not be brought back; returns what to throw
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

  /** The calling thread begins to run an operation of the storage. */
  void operationStarted() {
    synchronized (storage) {
      runners.add(Thread.currentThread());
    }
  }

  /** The calling thread has run the operation. */
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
   * The calling thread closes the storage.
   *
   * @param late whether the host may go on writing, by an open mapping or a hold
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
   * Performs the operation of the closing thread, and waits for it.
   *
   * @return what to throw if bytes are lost; else null
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

  /** Asks for the operation of the closing thread, which cannot wait for it now. */
  void request(Operation atClose) {
    try {
      atClose.failing(this::tell).release(false);
    } finally {
      synchronized (storage) {
        // It may wait later on, when the bytes are not lent any more.
        closer = null;
      }
    }
  }

  /** Returns the operation that comes when the last user has ended; null if none is needed. */
  @Nullable Operation late() {
    synchronized (storage) {
      if (isLate && late == null) {
        late = operation(this::move).failing(this::tell);
      }
      return late;
    }
  }

  /**
   * Brings the bytes back and waits, unless the thread that closes the storage does that.
   *
   * @throws RuntimeException what that failed with
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
