package dev.tidepool.runtime.threads;

import dev.tidepool.pool.ModelChecks;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Every future completes, in all orders of steps that a model checker tries. */
class FutureCompleterModelTest {
  private record Completion(AtomicInteger completed, boolean hasDependents)
      implements FutureCompleter.Completion {
    @Override
    public void run() {
      completed.incrementAndGet();
    }
  }

  private static void completeTwo(boolean haveDependents) {
    ModelThreads threads = new ModelThreads();
    FutureCompleter completer = new FutureCompleter(threads::start);
    AtomicInteger completed = new AtomicInteger();
    ModelThreads.run(
        () -> completer.add(new Completion(completed, haveDependents)),
        () -> completer.add(new Completion(completed, false)));
    threads.join();
    if (completed.get() != 2) {
      throw new AssertionError(completed + " of 2 futures completed");
    }
  }

  @Test
  void everyFutureCompletes() {
    ModelChecks.inManyOrders(() -> completeTwo(false));
  }

  @Test
  void aFutureWhoseStagesMayBlockLeavesTheOthersToAnotherThread() {
    ModelChecks.inManyOrders(() -> completeTwo(true));
  }
}
