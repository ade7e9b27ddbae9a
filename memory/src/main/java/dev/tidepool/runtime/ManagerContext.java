package dev.tidepool.runtime;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.TransferMeter;
import dev.tidepool.spi.Device;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * What all that works for one manager may need: its device and options, the threads, the retry
 * policy, the link to the device, and whether it is open. What one room asks of another is not
 * here: constructors hand that over.
 */
class ManagerContext {
  private final UnifiedMemoryManager manager;
  private final DeviceContext shared;
  private final MemoryOptions options;
  private final Supplier<DeviceLink> link;
  private final ManagerState state;
  private final TransferMeter meter = new TransferMeter();
  private final Retries retries;
  private final OpenFutures futures = new OpenFutures();

  /**
   * A new manager's.
   *
   * @param manager as users know it
   * @param shared by all managers of the device
   * @param link opens the queues when something first moves
   */
  ManagerContext(
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
        new Retries(options.transferRetries(), options.transferRetryTime().toNanos(), meter);
  }

  /** The manager as users know it. */
  final UnifiedMemoryManager manager() {
    return manager;
  }

  final Accelerator accelerator() {
    return manager.accelerator();
  }

  /** The accelerator's. */
  final String id() {
    return device().info().id();
  }

  final Device device() {
    return shared.device();
  }

  final OpenSession session() {
    return shared.session();
  }

  final MemoryOptions options() {
    return options;
  }

  final boolean isParanoid() {
    return options.diagnostics() == DiagnosticsLevel.PARANOID;
  }

  /** Bytes of the largest buffer in the device's own memory. */
  final long largest() {
    return device().info().maximumAllocation();
  }

  final long stagingChunk() {
    return options.stagingChunk();
  }

  /** Whether the manager is open, and the operations that keep it from ending. */
  final ManagerState state() {
    return state;
  }

  /**
   * Checks that the manager is open.
   *
   * @throws IllegalStateException if it is closed
   */
  final void checkOpen() {
    state.checkOpen();
  }

  /** The queues, opened when something first moves. */
  final DeviceLink link() {
    return link.get();
  }

  final TransferMeter meter() {
    return meter;
  }

  /** When a transfer that failed is tried again. */
  final Retries retries() {
    return retries;
  }

  /** The requests of the session that wait for memory. */
  final MemoryWaiters waiters() {
    return shared.waiters();
  }

  /** Whose turn it is to find memory for work over several buffers; see {@link Placing}. */
  final Placing.Turn placing() {
    return shared.placing();
  }

  /** Returns the tick of the session's clock. */
  final int tick() {
    return shared.ticks().now();
  }

  final Executor transferThreads() {
    return traffic();
  }

  final Traffic traffic() {
    return shared.workers().transfers();
  }

  final Executor kernelThreads() {
    return shared.workers().kernels();
  }

  final Executor completions() {
    return shared.workers().completions();
  }

  /** Asks for work in the background. */
  final CompletableFuture<Void> submit(Work work) {
    return submit(work, () -> {});
  }

  /**
   * Asks for work in the background.
   *
   * @param ended is run when the work has ended, by the thread that ends it
   */
  final CompletableFuture<Void> submit(Work work, Runnable ended) {
    return track(OperationFuture.submit(work, completions(), ended));
  }

  /** Asks for work, which does not start before it is told to {@link Work#begin}. */
  final CompletableFuture<Void> reserve(Work work) {
    return track(OperationFuture.reserve(work, completions(), () -> {}));
  }

  /** Lets {@link #awaitFutures} wait for a future. */
  final <T> CompletableFuture<T> track(CompletableFuture<T> future) {
    return futures.track(future);
  }

  /** Waits for the futures that were tracked and have not completed. */
  final void awaitFutures() {
    futures.await();
  }
}
