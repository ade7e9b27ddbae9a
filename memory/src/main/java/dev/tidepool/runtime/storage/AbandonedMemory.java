package dev.tidepool.runtime.storage;

import dev.tidepool.spi.support.FailureLog;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Releases memory of other libraries whose buffers became unreachable. Another library's release
 * may wait for a lock, as Python's does, and the holder of the lock may wait for this library. A
 * thread of its own, for which no other thread waits, runs the releases while there are any.
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
