package dev.tidepool.pool;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;

/** Runs the same body on several threads, every other one virtual, each with its own numbers. */
public final class Threads {
  /** What each thread does. */
  public interface Body {
    void run(int thread, SplittableRandom random) throws Exception;
  }

  private Threads() {}

  public static void run(int count, Body body) throws InterruptedException {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      int thread = t;
      Runnable guarded =
          () -> {
            try {
              body.run(thread, new SplittableRandom(thread * 31L + 5));
            } catch (Throwable e) {
              failure.compareAndSet(null, e);
            }
          };
      threads.add(
          t % 2 == 0 ? Thread.ofPlatform().start(guarded) : Thread.ofVirtual().start(guarded));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (failure.get() != null) {
      throw new AssertionError("a thread failed", failure.get());
    }
  }
}
