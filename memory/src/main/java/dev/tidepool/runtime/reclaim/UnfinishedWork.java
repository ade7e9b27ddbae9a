package dev.tidepool.runtime.reclaim;

import dev.tidepool.runtime.order.KernelBody;
import dev.tidepool.runtime.order.OrderedOperation;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.threads.SessionExecutors;
import java.util.List;

/**
 * Waits for unfinished operations, because they reference their buffers: the garbage collector
 * finds an abandoned buffer only after the last operation on it. Does not wait for operations that
 * are requested during the wait. Not thread-safe.
 *
 * <p>It waits at most two seconds for each operation, and at most ten seconds after the request was
 * refused. So a long operation does not delay a request that must fail.
 */
final class UnfinishedWork {
  private static final long WAIT_NANOS = 10_000_000_000L;
  private static final long STANDSTILL_NANOS = 2_000_000_000L;

  private final Reclaimer reclaimer;
  private final MemoryRequest<?> request;
  private final long end = System.nanoTime() + WAIT_NANOS;

  UnfinishedWork(Reclaimer reclaimer, MemoryRequest<?> request) {
    this.reclaimer = reclaimer;
    this.request = request;
  }

  /** Returns whether there are operations on buffers of the managers whose memory would help. */
  boolean isAny() {
    return !reclaimer.busy(request.isOwnOnly()).isEmpty();
  }

  /** Waits for the operations that have been requested until now. */
  void await() {
    List<OrderedOperation> operations =
        reclaimer.busy(request.isOwnOnly()).stream()
            .flatMap(storage -> workOn(storage).stream())
            .filter(this::mayAwait)
            .distinct()
            .toList();
    for (OrderedOperation operation : operations) {
      if (!operation.await(Math.min(STANDSTILL_NANOS, end - System.nanoTime()))) {
        return;
      }
    }
  }

  /**
   * Returns the operations to wait for. A thread that runs operations waits only for running ones,
   * because queued ones may be behind its own.
   */
  private List<OrderedOperation> workOn(Storage storage) {
    return request.isInWork() || SessionExecutors.isWorker(Thread.currentThread())
        ? storage.useState().goingOn()
        : storage.lifetime().unfinished();
  }

  private boolean mayAwait(OrderedOperation operation) {
    return !Thread.currentThread().equals(operation.runner())
        && !operation.isLent()
        && KernelBody.mayAwait(operation);
  }
}
