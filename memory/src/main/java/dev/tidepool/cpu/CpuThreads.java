package dev.tidepool.cpu;

import static java.util.concurrent.TimeUnit.SECONDS;

import dev.tidepool.TidepoolException;
import dev.tidepool.host.system.TruncatedMapCheck;
import dev.tidepool.spi.support.FailureLog;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The threads that run kernels: one for each processor, including the caller's. All launches of the
 * process share them.
 *
 * <p>Free threads claim the items of a launch in pieces. The caller claims pieces too and could run
 * all of them alone. So a launch never depends on a thread that is busy with another launch.
 */
final class CpuThreads {
  /** The most threads of one launch, including the caller. */
  static final int THREADS = Runtime.getRuntime().availableProcessors();

  private static final AtomicInteger NAMES = new AtomicInteger();
  private static final @Nullable ThreadPoolExecutor WORKERS = workers();
  private static final ScopedValue<Boolean> ALONE = ScopedValue.newInstance();

  private CpuThreads() {}

  /** One of these threads. */
  private static final class Worker extends Thread {
    Worker(Runnable task) {
      super(task, "tidepool-cpu-" + NAMES.getAndIncrement());
      setDaemon(true);
    }
  }

  private static @Nullable ThreadPoolExecutor workers() {
    if (THREADS == 1) {
      return null;
    }
    ThreadPoolExecutor workers =
        new ThreadPoolExecutor(
            THREADS - 1, THREADS - 1, 30, SECONDS, new LinkedBlockingQueue<>(), Worker::new);
    workers.allowCoreThreadTimeOut(true);
    return workers;
  }

  /**
   * Runs a task over all items, in ranges of {@code grain} items or less. Returns when all are
   * done.
   *
   * @throws RuntimeException the exception of the first range that failed; ranges not begun by then
   *     are skipped
   */
  static void spread(long items, long grain, RangeTask piece) {
    long pieces = (items + grain - 1) / grain;
    if (WORKERS == null || pieces <= 1 || ALONE.isBound()) {
      if (items > 0) {
        piece.run(0, items);
      }
      return;
    }
    Spread spread = new Spread(items, grain, pieces, piece);
    Object owner = LaunchScope.owner();
    Runnable help = owner == null ? spread : () -> LaunchScope.run(owner, spread);
    try {
      for (int i = 0; i < Math.min(THREADS - 1, pieces - 1); i++) {
        WORKERS.execute(help);
      }
    } catch (OutOfMemoryError e) {
      // No thread can be started. The caller and the existing workers run the launch.
      FailureLog.debug("a kernel runs on fewer threads", e);
    }
    spread.run();
    if (owner == null) {
      spread.awaitPieces();
    } else {
      // A body may wait for other kernels, which may need the calling thread.
      spread.awaitPiecesReplaced();
    }
    spread.surface();
  }

  /** Runs work whose launches stay on the calling thread. */
  static void alone(Runnable work) {
    ScopedValue.where(ALONE, true).run(work);
  }

  /** One launch in progress. */
  private static final class Spread implements Runnable, ForkJoinPool.ManagedBlocker {
    private final long items;
    private final long grain;
    private final RangeTask piece;
    private final Thread caller = Thread.currentThread();
    private final AtomicLong next = new AtomicLong();
    private final AtomicLong unfinished;
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    // Whether a thread other than the caller failed first. Written before its piece counts as done.
    private boolean hasFailedElsewhere;

    Spread(long items, long grain, long pieces, RangeTask piece) {
      this.items = items;
      this.grain = grain;
      this.piece = piece;
      this.unfinished = new AtomicLong(pieces);
    }

    @Override
    public void run() {
      for (long from = claim(); from < items; from = claim()) {
        try {
          if (failure.get() == null) {
            piece.run(from, Math.min(items, from + grain));
            TruncatedMapCheck.surface();
          }
        } catch (Throwable e) {
          if (failure.compareAndSet(null, e)) {
            hasFailedElsewhere = !Thread.currentThread().equals(caller);
          }
        }
        if (unfinished.decrementAndGet() == 0) {
          LockSupport.unpark(caller);
        }
      }
    }

    private long claim() {
      // Late workers may claim past the end, but only a few times, so the sum does not overflow.
      return next.get() >= items ? items : next.getAndAdd(grain);
    }

    /** Like {@link #awaitPieces}, but another thread replaces this one in its pool meanwhile. */
    void awaitPiecesReplaced() {
      try {
        ForkJoinPool.managedBlock(this);
      } catch (RejectedExecutionException | IllegalStateException | OutOfMemoryError e) {
        // No thread replaces it. The pieces use the launch's memory, so it must wait anyway.
        FailureLog.debug("a pool does without one of its threads", e);
        awaitPieces();
      } catch (InterruptedException e) {
        throw new AssertionError("a wait that is not interruptible was interrupted", e);
      }
    }

    @Override
    public boolean block() {
      awaitPieces();
      return true;
    }

    @Override
    public boolean isReleasable() {
      return unfinished.get() == 0;
    }

    /** Waits for the pieces that other threads claimed. An interrupt stays set. */
    void awaitPieces() {
      boolean interrupted = false;
      while (unfinished.get() > 0) {
        LockSupport.park(this);
        interrupted |= Thread.interrupted();
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }

    /** Throws the exception of the first piece that failed, if any. */
    void surface() {
      Throwable thrown = failure.get();
      if (thrown != null && hasFailedElsewhere) {
        addLaunch(thrown);
      }
      if (thrown instanceof RuntimeException e) {
        throw e;
      }
      if (thrown instanceof Error e) {
        throw e;
      }
      if (thrown != null) {
        throw new TidepoolException("a kernel failed", thrown);
      }
    }

    /**
     * Adds the caller's stack, which the stack of another thread does not show. Not if the caller
     * is a pool's thread, whose stack does not show the launching code. Only once, because a body
     * may throw the same exception many times.
     */
    private void addLaunch(Throwable thrown) {
      if (!(caller instanceof ForkJoinWorkerThread)
          && !(thrown instanceof VirtualMachineError)
          && thrown.getSuppressed().length == 0) {
        thrown.addSuppressed(new Exception("the launch; an item failed on another thread"));
      }
    }
  }
}
