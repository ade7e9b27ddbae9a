package dev.tidepool.runtime.threads;

import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Runs work that may block for long and that uses no buffer's queue, each on a thread of its own.
 * On shared threads, all of them could wait for one another.
 */
public final class BackgroundWork {
  private BackgroundWork() {}

  /**
   * Starts work whose result needs no release. Cancelling the future stops work that has not
   * started.
   */
  public static <T> CompletableFuture<T> start(Supplier<T> work) {
    return start(work, _ -> {});
  }

  /**
   * Starts work.
   *
   * @param undo receives the result if the future was cancelled; may be called again
   */
  public static <T> CompletableFuture<T> start(Supplier<T> work, Consumer<T> undo) {
    CompletableFuture<T> future = new CompletableFuture<>();
    FutureResult<T> result = new FutureResult<>(future, BackgroundWork::run, undo);
    run(
        () -> {
          if (!future.isDone()) {
            result.compute(work);
            result.run();
          }
        });
    return future;
  }

  private static void run(Runnable task) {
    Thread.ofPlatform().name("tidepool-background").daemon().start(task);
  }
}
