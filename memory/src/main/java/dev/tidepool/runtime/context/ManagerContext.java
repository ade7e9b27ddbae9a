package dev.tidepool.runtime.context;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.TransferMeter;
import dev.tidepool.runtime.order.LaunchQueues;
import dev.tidepool.runtime.order.MemoryWaiters;
import dev.tidepool.runtime.order.MultiBufferAdmission;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.OperationFuture;
import dev.tidepool.runtime.order.PendingFutures;
import dev.tidepool.runtime.order.ResourceContext;
import dev.tidepool.runtime.order.RetryPolicy;
import dev.tidepool.runtime.threads.TransferExecutor;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.LaunchOrder;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The objects that all code of one manager may need: its device and options, the threads, the retry
 * policy, the link to the device, and whether it is open. Dependencies of one package on another
 * are not here: constructors pass them.
 */
public class ManagerContext implements ResourceContext {
  private final UnifiedMemoryManager manager;
  private final DeviceContext shared;
  private final MemoryOptions options;
  private final Supplier<DeviceLink> link;
  private final ManagerState state;
  private final TransferMeter meter = new TransferMeter();
  private final RetryPolicy retries;
  private final PendingFutures futures = new PendingFutures();
  private final boolean isDeviceOrdered;
  // Created when first needed, under the monitor of `futures`.
  private volatile @Nullable LaunchQueues launchQueues;

  /**
   * Creates the context of a new manager.
   *
   * @param manager as users know it
   * @param shared by all managers of the device
   * @param link opens the queues when bytes are first transferred
   */
  public ManagerContext(
      UnifiedMemoryManager manager,
      DeviceContext shared,
      MemoryOptions options,
      Supplier<DeviceLink> link) {
    this.manager = manager;
    this.shared = shared;
    this.options = options;
    this.link = link;
    this.state = new ManagerState(id());
    this.retries =
        new RetryPolicy(options.transferRetries(), options.transferRetryTime().toNanos(), meter);
    this.isDeviceOrdered = options.deviceOrder() && device().launchOrder() != LaunchOrder.HOST;
  }

  /** Returns the manager as users know it. */
  public final UnifiedMemoryManager manager() {
    return manager;
  }

  public final Accelerator accelerator() {
    return manager.accelerator();
  }

  @Override
  public final String id() {
    return device().info().id();
  }

  @Override
  public final Device device() {
    return shared.device();
  }

  public final OpenSession session() {
    return shared.session();
  }

  public final MemoryOptions options() {
    return options;
  }

  public final boolean isParanoid() {
    return options.diagnostics() == DiagnosticsLevel.PARANOID;
  }

  /** Returns the size in bytes of the largest buffer in the device's own memory. */
  public final long largest() {
    return device().info().maximumAllocation();
  }

  public final long stagingChunk() {
    return options.stagingChunk();
  }

  /** Returns whether the manager is open, and the operations that keep it from ending. */
  public final ManagerState state() {
    return state;
  }

  /**
   * Checks that the manager is open.
   *
   * @throws IllegalStateException if it is closed
   */
  public final void checkOpen() {
    state.checkOpen();
  }

  /** Returns the queues, which are opened when bytes are first transferred. */
  public final DeviceLink link() {
    return link.get();
  }

  public final TransferMeter meter() {
    return meter;
  }

  /** Returns the policy for failed transfers. */
  public final RetryPolicy retries() {
    return retries;
  }

  /** Returns the requests of the session that wait for memory. */
  @Override
  public final MemoryWaiters waiters() {
    return shared.waiters();
  }

  /**
   * Returns the turn in which operations over several buffers get memory; see {@link
   * MultiBufferAdmission}.
   */
  @Override
  public final MultiBufferAdmission.Turn admission() {
    return shared.admission();
  }

  /** Returns the current tick of the session's clock. */
  public final int tick() {
    return shared.clock().now();
  }

  public final TransferExecutor transferThreads() {
    return shared.workers().transfers();
  }

  public final Executor kernelThreads() {
    return shared.workers().kernels();
  }

  /** Returns whether the device, rather than the host, keeps launches in order. */
  public final boolean isDeviceOrdered() {
    return isDeviceOrdered;
  }

  /** Returns the queues of launches, created on the first call. */
  public final LaunchQueues launchQueues() {
    LaunchQueues made = launchQueues;
    return made == null ? makeLaunchQueues() : made;
  }

  private LaunchQueues makeLaunchQueues() {
    synchronized (futures) {
      LaunchQueues made = launchQueues;
      if (made == null) {
        made =
            new LaunchQueues(
                link().computeQueues(), device().launchOrder(), shared.workers().events());
        launchQueues = made;
      }
      return made;
    }
  }

  public final Executor callbackExecutor() {
    return shared.workers().callbackExecutor();
  }

  /** Submits an operation. */
  public final CompletableFuture<Void> submit(Operation operation) {
    return submit(operation, () -> {});
  }

  /**
   * Submits an operation.
   *
   * @param ended is run by the thread that ends the operation
   */
  public final CompletableFuture<Void> submit(Operation operation, Runnable ended) {
    return OperationFuture.submit(operation, shared.workers().futureCompleter(), futures, ended);
  }

  /** Submits an operation that does not start before {@link Operation#begin}. */
  public final CompletableFuture<Void> reserve(Operation operation) {
    return OperationFuture.reserve(
        operation, shared.workers().futureCompleter(), futures, () -> {});
  }

  /** Registers a future that {@link #awaitFutures} waits for. */
  public final <T> CompletableFuture<T> track(CompletableFuture<T> future) {
    return futures.track(future);
  }

  /**
   * Removes a tracked future that no caller has and that nothing will complete. Completes it with
   * null, because a closing thread may already wait for it.
   */
  public final void untrack(CompletableFuture<?> future) {
    futures.withdraw(future);
  }

  /** Waits for the tracked futures that have not completed. */
  public final void awaitFutures() {
    futures.await();
  }
}
