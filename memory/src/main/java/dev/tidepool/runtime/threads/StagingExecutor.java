package dev.tidepool.runtime.threads;

import dev.tidepool.link.StagingThreads;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads that help with long transfers. Together with the calling thread they use at most half
 * of the processors, so that the other half is left to the program. They are at most eight, which
 * copy faster than links transfer.
 */
final class StagingExecutor implements StagingThreads, AutoCloseable {
  private static final int MOST = 8;
  private static final long IDLE_SECONDS = 10;

  private final int most;
  private final ThreadPoolExecutor pool;

  StagingExecutor(int processors, ThreadFactory threads) {
    most = Math.max(0, Math.min(MOST, processors / 2) - 1);
    pool =
        new ThreadPoolExecutor(
            0,
            Math.max(1, most),
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            threads);
  }

  @Override
  public int most() {
    return most;
  }

  @Override
  public boolean tryStart(Runnable task) {
    try {
      pool.execute(task);
      return true;
    } catch (RejectedExecutionException allBusy) {
      return false;
    } catch (OutOfMemoryError noThread) {
      return false;
    }
  }

  @Override
  public void close() {
    pool.shutdown();
  }
}
