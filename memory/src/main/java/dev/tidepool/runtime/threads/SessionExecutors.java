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
 * native calls; transfers never wait for other work on them, so a bounded number cannot deadlock.
 * Stages that users attach to futures may block, so these threads complete none: see {@link
 * FutureCompleter}.
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

  // Never shut down: what ends while the session closes must still complete its future.
  private final Executor callbacks = task -> callbackThreads.newThread(task).start();
  private final FutureCompleter futureCompleter = new FutureCompleter(callbacks);

  /**
   * Creates the threads of a session, none of them started.
   *
   * @param tasks says which transfers are done together
   */
  public SessionExecutors(int concurrentTransfers, TransferExecutor.TaskSource tasks) {
    transfers = new TransferExecutor(concurrentTransfers, factory("tidepool-transfer-"), tasks);
  }

  private static ThreadFactory factory(String name) {
    AtomicInteger count = new AtomicInteger();
    return task -> new Worker(task, name + count.getAndIncrement());
  }

  /** Returns whether a thread is one that work runs on. */
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
   * Returns the executor that evicts on behalf of virtual threads. Not the transfer threads: they
   * may all wait for what such a thread holds.
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

  /** Runs what blocks on the calling thread, or waits for it where that is a virtual one. */
  public static void offCarrier(Runnable task) {
    if (Thread.currentThread().isVirtual()) {
      CompletableFuture.runAsync(task, evictions()).join();
    } else {
      task.run();
    }
  }

  /** Returns what completes the futures of operations, one after another. */
  public FutureCompleter futureCompleter() {
    return futureCompleter;
  }

  /** Starts another thread if the completion of one future holds up others. */
  public void checkFutureCompleter() {
    futureCompleter.check();
  }

  /**
   * Returns the executor that calls users' code: each task has a virtual thread, which it may
   * block.
   */
  public Executor callbackExecutor() {
    return callbacks;
  }

  /** Ends the threads once what was handed to them is done. */
  @Override
  public void close() {
    transfers.close();
    kernels.close();
    staging.close();
    events.shutdown();
  }
}
