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
 * The threads that kernels spread over: one for each processor, the caller's included, shared by
 * all launches of the process.
 *
 * <p>A launch's items are claimed in pieces by the threads that are free. The caller claims too and
 * could do all of them alone, so a launch never depends on a thread that another launch keeps busy.
 */
final class CpuThreads {
  /** Threads of one launch at most, the caller's included. */
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
   * Runs a piece over all items, in ranges of {@code grain} items or less; returns when all are
   * done.
   *
   * @throws RuntimeException what the first piece that failed threw; pieces not yet begun are left
   *     out
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
      // No thread could be made; the caller and the workers that there are do without it.
      FailureLog.debug("a kernel runs on fewer threads", e);
    }
    spread.run();
    if (owner == null) {
      spread.awaitPieces();
    } else {
      // A body may wait for other kernels, for which the calling thread may be needed.
      spread.awaitPiecesReplaced();
    }
    spread.surface();
  }

  /** Runs work whose launches stay on the calling thread. */
  static void alone(Runnable work) {
    ScopedValue.where(ALONE, true).run(work);
  }

  /** One launch under way. */
  private static final class Spread implements Runnable, ForkJoinPool.ManagedBlocker {
    private final long items;
    private final long grain;
    private final RangeTask piece;
    private final Thread caller = Thread.currentThread();
    private final AtomicLong next = new AtomicLong();
    private final AtomicLong unfinished;
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    // Whether a thread other than the caller failed first; written before the piece counts as done.
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
      // A late worker may claim past the end, a few times at most, so the sum does not overflow.
      return next.get() >= items ? items : next.getAndAdd(grain);
    }

    /** {@link #awaitPieces} while another thread takes the place of this one in its pool. */
    void awaitPiecesReplaced() {
      try {
        ForkJoinPool.managedBlock(this);
      } catch (RejectedExecutionException | IllegalStateException | OutOfMemoryError e) {
        // No thread takes its place. The pieces use the launch's memory, so it waits all the same.
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

    /** Waits for the pieces that others claimed. An interrupt stays set. */
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

    /** Throws what the first piece that failed threw. */
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
     * Shows where the launch was asked for, which the stack of another thread does not. A pool's
     * thread was not asked by the code on its stack. A body may throw one exception many times.
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
