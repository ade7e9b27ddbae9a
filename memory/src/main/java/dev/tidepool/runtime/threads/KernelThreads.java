package dev.tidepool.runtime.threads;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The threads that run the kernels of a session. A few are enough, because a kernel keeps all
 * processors or the device busy.
 *
 * <p>The body of a Java kernel may wait for other kernels, which need a thread too. So another
 * thread replaces one that waits, as {@link ForkJoinPool} does: in {@code CompletableFuture.join},
 * and in every wait that uses {@link #whileReplaced}. A thread that waits by other means, such as a
 * latch, is not replaced.
 *
 * <p>A thread whose operation made another one ready runs that one next itself. Waking a thread for
 * each of a chain of small kernels would take longer than the kernels.
 */
public final class KernelThreads implements HandoffExecutor, AutoCloseable {
  private static final int RUNNING = 4;

  /** The maximum number of tasks that a thread runs in a row before queued tasks have a turn. */
  private static final int MOST_IN_A_ROW = 64;

  private static final int MOST = RUNNING + 256;
  private static final long IDLE_SECONDS = 10;

  private final AtomicInteger names = new AtomicInteger();
  private final Signal signal = new Signal();
  private final ForkJoinPool pool =
      new ForkJoinPool(
          RUNNING,
          this::newThread,
          null,
          true,
          RUNNING,
          MOST,
          RUNNING,
          KernelThreads::refuseMore,
          IDLE_SECONDS,
          TimeUnit.SECONDS);

  /** Starts a thread for waiting tasks, after an earlier start has failed. */
  private final class Signal extends Resumable {
    @Override
    public void resume() {
      if (!pool.isShutdown()) {
        pool.execute(() -> {});
      }
    }
  }

  static final class KernelThread extends ForkJoinWorkerThread {
    private final Resumable signal;
    // All used only by this thread.
    private @Nullable Runnable next;
    private boolean takesNext;
    private boolean mayStayUnreplaced;

    KernelThread(ForkJoinPool pool, String name, Resumable signal) {
      super(pool);
      this.signal = signal;
      setName(name);
      setDaemon(true);
    }

    @Override
    public void start() {
      try {
        super.start();
      } catch (OutOfMemoryError e) {
        signal.leaveUnfinished();
        throw e;
      }
    }

    /** Runs a task, then the tasks that are handed over, each at the end of the one before. */
    private void runWithNext(Runnable first) {
      Runnable task = first;
      for (int row = 1; task != null; row++) {
        takesNext = row < MOST_IN_A_ROW;
        try {
          if (task instanceof Task operation) {
            operation.endsTask();
          }
          task.run();
        } catch (Throwable e) {
          if (next instanceof Task operation) {
            operation.leaveToBeHandedIn();
          }
          next = null;
          throw e;
        } finally {
          takesNext = false;
        }
        task = next;
        next = null;
      }
    }

    /** Returns whether this thread runs the operation right after its current task. */
    private boolean takes(Runnable operation) {
      if (!takesNext || next != null) {
        return false;
      }
      next = operation;
      return true;
    }
  }

  private @Nullable ForkJoinWorkerThread newThread(ForkJoinPool owner) {
    try {
      return new KernelThread(owner, "tidepool-kernel-" + names.getAndIncrement(), signal);
    } catch (OutOfMemoryError e) {
      signal.leaveUnfinished();
      return null;
    }
  }

  /** Called by a thread that waits and cannot be replaced. */
  private static boolean refuseMore(ForkJoinPool pool) {
    if (Thread.currentThread() instanceof KernelThread waiting && waiting.mayStayUnreplaced) {
      return true;
    }
    throw new IllegalStateException(
        "the bodies of "
            + (MOST - RUNNING)
            + " Java kernels wait for other kernels at once, and no more may; nest them less"
            + " deeply, or start fewer at a time");
  }

  @Override
  public void execute(Runnable task) {
    try {
      pool.execute(() -> run(task));
    } catch (RejectedExecutionException ending) {
      // While the session ends, the calling thread runs the task: an operation finds everything
      // closed, and a release still returns its memory.
      task.run();
    }
  }

  private static void run(Runnable task) {
    if (Thread.currentThread() instanceof KernelThread thread) {
      thread.runWithNext(task);
    } else {
      task.run();
    }
  }

  @Override
  public void executeNext(Runnable task) {
    if (!(Thread.currentThread() instanceof KernelThread thread && thread.takes(task))) {
      execute(task);
    }
  }

  /**
   * Runs a wait. If the calling thread is one of these, another replaces it meanwhile.
   *
   * @throws IllegalStateException if too many threads wait already
   */
  public static void whileReplaced(Runnable wait) {
    if (!(Thread.currentThread() instanceof KernelThread)) {
      wait.run();
      return;
    }
    try {
      ForkJoinPool.managedBlock(
          new ForkJoinPool.ManagedBlocker() {
            @Override
            public boolean block() {
              wait.run();
              return true;
            }

            @Override
            public boolean isReleasable() {
              return false;
            }
          });
    } catch (InterruptedException e) {
      throw new AssertionError("a wait that is not interruptible was interrupted", e);
    }
  }

  /**
   * Waits for a result that needs none of these threads, such as a compiled program. If the calling
   * thread is one of these, another replaces it meanwhile, unless too many wait already.
   *
   * @throws java.util.concurrent.CompletionException the failure of the result
   */
  public static <T> T join(CompletableFuture<T> result) {
    if (!(Thread.currentThread() instanceof KernelThread thread)) {
      return result.join();
    }
    thread.mayStayUnreplaced = true;
    try {
      return result.join();
    } finally {
      thread.mayStayUnreplaced = false;
    }
  }

  /** Ends the threads after they have run all tasks. */
  @Override
  public void close() {
    pool.shutdown();
  }
}
