package dev.tidepool.runtime.reclaim;

import dev.tidepool.runtime.order.KernelBody;
import dev.tidepool.runtime.order.OrderedOperation;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.threads.SessionExecutors;
import java.util.List;

/**
 * Waits for operations that have not ended, because they hold the buffers that they use: a
 * collection finds a buffer that the program has dropped only when the last operation on it has
 * ended. Operations that are asked for during the wait are not waited for. Not thread-safe.
 *
 * <p>It waits two seconds for each next operation that ends, and ten in all, from the moment when
 * the request was refused. So a request that must fail is not held up by one long operation.
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

  /** Returns whether any buffer whose memory would serve the request has work. */
  boolean isAny() {
    return !reclaimer.busy(request.isOwnOnly()).isEmpty();
  }

  /** Waits for the operations that have been asked for until now. */
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
   * Returns what has begun and goes on ends whatever this thread does. What is queued may be behind
   * the work of this thread, if that is one of the library's.
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
