package dev.tidepool.runtime;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The threads of one session. Transfers and kernels run on platform threads, for they block in
 * native calls; work never waits for other work on them, so a bounded number cannot deadlock.
 * Futures complete on virtual threads, where what users hang on them may block.
 */
final class Workers implements AutoCloseable {
  private static final int KERNELS = 4;
  private static final long IDLE_SECONDS = 10;

  private static final class Worker extends Thread {
    Worker(Runnable task, String name) {
      super(task, name);
      setDaemon(true);
    }
  }

  private final Traffic transfers;
  private final ThreadPoolExecutor kernels = pool(KERNELS, "tidepool-kernel-");
  private final ThreadFactory completing =
      Thread.ofVirtual().name("tidepool-completion-", 0).factory();

  Workers(int concurrentTransfers) {
    transfers = new Traffic(concurrentTransfers, factory("tidepool-transfer-"));
  }

  private static ThreadFactory factory(String name) {
    AtomicInteger count = new AtomicInteger();
    return task -> new Worker(task, name + count.getAndIncrement());
  }

  private static ThreadPoolExecutor pool(int size, String name) {
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            size, size, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory(name));
    // What comes while the session ends is done by who asks: it finds out that all is closed, and
    // memory on its way back gets there.
    pool.setRejectedExecutionHandler((task, _) -> task.run());
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /** Whether a thread is one that work runs on. */
  static boolean isWorker(Thread thread) {
    return thread instanceof Worker;
  }

  Traffic transfers() {
    return transfers;
  }

  Executor kernels() {
    return kernels;
  }

  /**
   * For making room on behalf of virtual threads. Not the transfer threads: they may all wait for
   * what such a thread holds.
   */
  static Executor evictions() {
    return task -> {
      try {
        Thread.ofPlatform().daemon().name("tidepool-eviction").start(task);
      } catch (OutOfMemoryError noThread) {
        // Better a carrier that is held up than work that never runs.
        task.run();
      }
    };
  }

  /** Runs what blocks on the calling thread, or waits for it where that is a virtual one. */
  static void offCarrier(Runnable task) {
    if (Thread.currentThread().isVirtual()) {
      CompletableFuture.runAsync(task, evictions()).join();
    } else {
      task.run();
    }
  }

  Executor completions() {
    // Never shut down: what ends while the session closes must still complete its future.
    return task -> completing.newThread(task).start();
  }

  /** Ends the threads once what was handed to them is done. */
  @Override
  public void close() {
    transfers.close();
    kernels.shutdown();
  }
}
