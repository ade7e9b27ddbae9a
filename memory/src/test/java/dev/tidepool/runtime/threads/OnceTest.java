package dev.tidepool.runtime.threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OnceTest {
  private final Once once = new Once();
  private final AtomicInteger runs = new AtomicInteger();

  @Test
  void runsOnce() {
    once.run(runs::incrementAndGet);
    once.run(runs::incrementAndGet);
    assertThat(once.tryRun(runs::incrementAndGet)).isFalse();
    assertThat(runs).hasValue(1);
  }

  @Test
  void doesNotWaitForItself() {
    once.run(() -> once.run(runs::incrementAndGet));
    assertThat(runs).hasValue(0);
  }

  @Test
  void anActionThatFailedRunsAgain() {
    assertThatThrownBy(() -> once.run(OnceTest::fail)).isInstanceOf(OutOfMemoryError.class);
    once.run(runs::incrementAndGet);
    assertThat(runs).hasValue(1);
  }

  @Test
  void aThreadThatWaitedForAnActionThatFailedRunsItsOwn() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch fails = new CountDownLatch(1);
    CompletableFuture<Void> first =
        CompletableFuture.runAsync(
            () ->
                once.run(
                    () -> {
                      begun.countDown();
                      awaitUninterrupted(fails);
                      fail();
                    }));
    begun.await();
    Thread second = new Thread(() -> once.run(runs::incrementAndGet));
    second.start();
    while (second.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    fails.countDown();
    second.join();
    assertThatThrownBy(first::join).hasCauseInstanceOf(OutOfMemoryError.class);
    assertThat(runs).hasValue(1);
  }

  private static void fail() {
    throw new OutOfMemoryError("on purpose");
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
