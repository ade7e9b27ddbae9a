package dev.tidepool.runtime.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Futures complete one after another on one thread, and none is held up by another. */
@Timeout(60)
class FutureCompleterTest {
  private final AtomicInteger threads = new AtomicInteger();
  private final FutureCompleter completer =
      new FutureCompleter(
          task -> {
            threads.incrementAndGet();
            Thread.ofVirtual().start(task);
          });
  private final CountDownLatch blocked = new CountDownLatch(1);
  private final CountDownLatch begun = new CountDownLatch(1);
  private final List<String> completed = new CopyOnWriteArrayList<>();

  private FutureCompleter.Completion named(String name, boolean hasDependents, boolean blocks) {
    return new FutureCompleter.Completion() {
      @Override
      public boolean hasDependents() {
        return hasDependents;
      }

      @Override
      public void run() {
        if (blocks) {
          begun.countDown();
          try {
            blocked.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        }
        completed.add(name);
      }
    };
  }

  @Test
  void whatNothingHangsOnSharesThreads() throws InterruptedException {
    completer.add(named("first", false, true));
    begun.await();
    for (int i = 0; i < 1000; i++) {
      completer.add(named("later", false, false));
    }
    blocked.countDown();
    await().until(() -> completed.size() == 1001);
    assertThat(threads).hasValue(1);
    assertThat(completed).startsWith("first");
  }

  @Test
  void aStageThatBlocksHoldsNothingUp() throws InterruptedException {
    completer.add(named("blocking", true, true));
    begun.await();
    for (int i = 0; i < 100; i++) {
      completer.add(named("later", i % 2 == 0, false));
    }
    await().until(() -> completed.size() == 100);
    blocked.countDown();
    await().until(() -> completed.size() == 101);
  }

  @Test
  void aStageThatCameTooLateToBeSeenHoldsNothingUpForLong() throws InterruptedException {
    completer.add(named("blocking", false, true));
    begun.await();
    completer.add(named("later", false, false));
    completer.check();
    completer.check();
    await().until(() -> completed.contains("later"));
    blocked.countDown();
    await().until(() -> completed.size() == 2);
    completer.add(named("last", false, false));
    await().until(() -> completed.size() == 3);
  }
}
