package dev.tidepool.runtime.storage;

import dev.tidepool.spi.support.FailureLog;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Gives memory of other libraries back whose buffers became unreachable. Another library's release
 * may wait for a lock, as Python's does, held by a thread that waits for this library: so no thread
 * that others wait for may run it. One thread does, while there is such memory.
 */
final class AbandonedMemory {
  private static final ThreadPoolExecutor RELEASES = executor();

  private AbandonedMemory() {}

  private static ThreadPoolExecutor executor() {
    ThreadPoolExecutor executor =
        new ThreadPoolExecutor(
            1,
            1,
            1,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("tidepool-abandoned-memory").factory());
    executor.allowCoreThreadTimeOut(true);
    return executor;
  }

  /** Queues the release of memory. Does not wait. */
  static void giveBack(Runnable release) {
    RELEASES.execute(
        () -> {
          try {
            release.run();
          } catch (RuntimeException | Error e) {
            FailureLog.warn("adopted memory could not be given back", e);
          }
        });
  }
}
