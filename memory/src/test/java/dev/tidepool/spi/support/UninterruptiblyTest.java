package dev.tidepool.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An interrupt does not end a wait, and stays set. */
@Timeout(60)
class UninterruptiblyTest {
  private final Object monitor = new Object();
  private final AtomicBoolean open = new AtomicBoolean();

  @AfterEach
  void clearInterrupt() {
    var _ = Thread.interrupted();
  }

  /** Runs a wait on an interrupted thread; ends it; returns whether the interrupt was set then. */
  private static boolean interruptedAfter(Runnable wait, Runnable end) throws Exception {
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  Thread.currentThread().interrupt();
                  wait.run();
                  interrupted.complete(Thread.currentThread().isInterrupted());
                });
    while (thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    assertThat(interrupted).isNotDone();
    end.run();
    return interrupted.get(30, TimeUnit.SECONDS);
  }

  private void open() {
    synchronized (monitor) {
      open.set(true);
      monitor.notifyAll();
    }
  }

  @Test
  void aLatchIsAwaited() throws Exception {
    CountDownLatch latch = new CountDownLatch(1);
    assertThat(interruptedAfter(() -> Uninterruptibly.await(latch::await), latch::countDown))
        .isTrue();
  }

  @Test
  void aConditionOfAMonitorIsAwaited() throws Exception {
    assertThat(interruptedAfter(() -> Uninterruptibly.await(monitor, open::get), this::open))
        .isTrue();
  }

  @Test
  void aWaitForSomeTimeSaysWhetherTheConditionCame() {
    Thread.currentThread().interrupt();
    assertThat(Uninterruptibly.await(monitor, 1_000_000, open::get)).isFalse();
    assertThat(Thread.interrupted()).isTrue();
    open.set(true);
    assertThat(Uninterruptibly.await(monitor, 1_000_000, open::get)).isTrue();
    assertThat(Thread.interrupted()).isFalse();
  }

  @Test
  void aFailureIsThrownAndTheInterruptSet() {
    CompletableFuture<String> failed = CompletableFuture.failedFuture(new IOException("gone"));
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> Uninterruptibly.get(failed::get))
        .isInstanceOf(ExecutionException.class)
        .hasRootCauseMessage("gone");
    assertThat(Thread.currentThread().isInterrupted()).isTrue();
  }

  @Test
  void aStepWhoseChannelAnInterruptClosedRunsAgain() throws IOException {
    AtomicInteger runs = new AtomicInteger();
    int last =
        Uninterruptibly.reopening(
            () -> {
              assertThat(Thread.currentThread().isInterrupted()).isFalse();
              if (runs.incrementAndGet() < 3) {
                Thread.currentThread().interrupt();
                throw new ClosedByInterruptException();
              }
              return runs.get();
            });
    assertThat(last).isEqualTo(3);
    assertThat(Thread.currentThread().isInterrupted()).isTrue();
  }

  @Test
  void aShieldedStepSeesNoInterrupt() {
    Thread.currentThread().interrupt();
    boolean seen = Uninterruptibly.shielded(() -> Thread.currentThread().isInterrupted());
    assertThat(seen).isFalse();
    assertThat(Thread.currentThread().isInterrupted()).isTrue();
  }
}
