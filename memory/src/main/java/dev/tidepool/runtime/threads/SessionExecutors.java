package dev.tidepool.runtime.threads;

import dev.tidepool.link.StagingThreads;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The threads of one session. Transfers and kernels run on platform threads, because they block in
 * native calls. A transfer never waits for other work on these threads, so a bounded number of them
 * cannot deadlock. Stages that users attach to futures may block, so other threads complete the
 * futures: see {@link FutureCompleter}.
 */
public final class SessionExecutors implements AutoCloseable {
  private static final class Worker extends Thread {
    Worker(Runnable task, String name) {
      super(task, name);
      setDaemon(true);
    }
  }

  private final TransferExecutor transfers;
  private final KernelThreads kernels = new KernelThreads();
  // One thread for each queue with launches under way: each may block in the driver.
  private final ThreadPoolExecutor events =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          10,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          factory("tidepool-event-"));
  private final StagingExecutor staging =
      new StagingExecutor(Runtime.getRuntime().availableProcessors(), factory("tidepool-staging-"));
  private final ThreadFactory callbackThreads =
      Thread.ofVirtual().name("tidepool-completion-", 0).factory();

  // Never shut down: an operation that ends while the session closes must complete its future.
  private final Executor callbacks = task -> callbackThreads.newThread(task).start();
  private final FutureCompleter futureCompleter = new FutureCompleter(callbacks);

  /**
   * Creates the threads of a session; starts none.
   *
   * @param tasks selects the transfers that are done together
   */
  public SessionExecutors(int concurrentTransfers, TransferExecutor.TaskSource tasks) {
    transfers = new TransferExecutor(concurrentTransfers, factory("tidepool-transfer-"), tasks);
  }

  private static ThreadFactory factory(String name) {
    AtomicInteger count = new AtomicInteger();
    return task -> new Worker(task, name + count.getAndIncrement());
  }

  /** Returns whether a thread is one of those that run operations. */
  public static boolean isWorker(Thread thread) {
    return thread instanceof Worker || thread instanceof KernelThreads.KernelThread;
  }

  /** Returns the threads that transfers run on. */
  public TransferExecutor transfers() {
    return transfers;
  }

  /** Returns the threads that kernels run on. */
  public Executor kernels() {
    return kernels;
  }

  /** Returns the threads that help with long transfers. */
  public StagingThreads staging() {
    return staging;
  }

  /** Returns the threads that wait for commands on devices. */
  public Executor events() {
    return events;
  }

  /**
   * Returns the executor that evicts on behalf of virtual threads. These are not the transfer
   * threads, which may all wait for a resource that the virtual thread holds.
   */
  public static Executor evictions() {
    return task -> {
      try {
        Thread.ofPlatform().daemon().name("tidepool-eviction").start(task);
      } catch (OutOfMemoryError noThread) {
        // A blocked carrier is better than work that never runs.
        task.run();
      }
    };
  }

  /** Runs a blocking task; on another thread, which this waits for, if the caller is virtual. */
  public static void offCarrier(Runnable task) {
    if (Thread.currentThread().isVirtual()) {
      CompletableFuture.runAsync(task, evictions()).join();
    } else {
      task.run();
    }
  }

  /** Returns the completer of the futures of operations. */
  public FutureCompleter futureCompleter() {
    return futureCompleter;
  }

  /**
   * Returns the executor that calls users' code, and that allocates in the background. Each task
   * has a virtual thread, which it may block.
   */
  public Executor callbackExecutor() {
    return callbacks;
  }

  /** Ends the threads after they have run all tasks. */
  @Override
  public void close() {
    transfers.close();
    kernels.close();
    staging.close();
    events.shutdown();
  }
}
