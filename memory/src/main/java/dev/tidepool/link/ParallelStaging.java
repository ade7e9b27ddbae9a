package dev.tidepool.link;

import dev.tidepool.spi.support.Uninterruptibly;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One staged transfer by several threads, because a link can be faster than the copies of one
 * processor. Each thread has its own {@link StagingRing} and claims the next free chunk. All
 * threads submit to one queue.
 *
 * <p>The calling thread claims chunks too, and never waits for a helper to begin: a helper that
 * begins after the last chunk was claimed does nothing. If a thread fails, the others stop at their
 * next chunk. {@link #run} returns when no helper uses its ring any more, so the caller can close
 * the rings.
 *
 * <p>Only the calling thread reports progress, also for the chunks of the helpers.
 */
final class ParallelStaging {
  private final ChunkSequence chunks;
  private final StagingRing.ChunkSteps steps;
  private final PriorityGate gate;
  private final TransferContext context;
  private final TransferContext helperContext;
  // The bytes that helpers have submitted and that are not reported yet.
  private final AtomicLong unreported = new AtomicLong();

  // Written under the monitor.
  private boolean over;
  private volatile int helping;
  private @Nullable Throwable failure;

  ParallelStaging(
      ChunkSequence chunks,
      StagingRing.ChunkSteps steps,
      PriorityGate gate,
      TransferContext context) {
    this.chunks = chunks;
    this.steps = steps;
    this.gate = gate;
    this.context = context;
    helperContext = context.reportingTo(unreported::addAndGet);
  }

  /**
   * Moves the whole transfer. Returns after it has arrived.
   *
   * @param rings one for the calling thread, and one for each helper
   * @throws RuntimeException the first failure of a thread; failures of other threads are
   *     suppressed
   */
  void run(StagingRing[] rings, StagingThreads threads) {
    try (PriorityGate.Passage passage = gate.enter(context)) {
      startHelpers(rings, threads);
      move(
          rings[0],
          bytes -> {
            passage.chunk(bytes);
            report();
          });
    } catch (RuntimeException | Error e) {
      fail(e);
    } finally {
      synchronized (this) {
        over = true;
      }
      while (helping > 0) {
        try {
          Uninterruptibly.await(this, () -> helping == 0);
        } catch (OutOfMemoryError | StackOverflowError e) {
          // This thread must not return while helpers use the rings.
          Thread.onSpinWait();
        }
      }
    }
    report();
    throwFailure();
  }

  private void startHelpers(StagingRing[] rings, StagingThreads threads) {
    for (int i = 1; i < rings.length; i++) {
      StagingRing ring = rings[i];
      if (!threads.tryStart(() -> help(ring))) {
        return;
      }
    }
  }

  private void help(StagingRing ring) {
    synchronized (this) {
      if (over) {
        return;
      }
      helping++;
    }
    try (PriorityGate.Passage passage = gate.enter(helperContext)) {
      move(ring, passage::chunk);
    } catch (Throwable e) {
      fail(e);
    } finally {
      synchronized (this) {
        helping--;
        notifyAll();
      }
    }
  }

  private void move(StagingRing ring, LongConsumer turn) {
    ring.run(steps, turn, chunks);
  }

  private void report() {
    long bytes = unreported.getAndSet(0);
    if (bytes > 0) {
      context.submitted().accept(bytes);
    }
  }

  private void fail(Throwable cause) {
    chunks.stop();
    synchronized (this) {
      if (failure == null) {
        failure = cause;
      } else if (!failure.equals(cause)) {
        suppress(failure, cause);
      }
    }
  }

  private static void suppress(Throwable failure, Throwable cause) {
    try {
      failure.addSuppressed(cause);
    } catch (OutOfMemoryError e) {
      // The first failure is sufficient.
      return;
    }
  }

  private synchronized void throwFailure() {
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure instanceof RuntimeException refused) {
      throw refused;
    }
    if (failure != null) {
      // Code that a helper called threw a checked exception that it does not declare.
      throw new IllegalStateException(failure);
    }
  }
}
