package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Futures are waited for until they are removed, wherever their entries are. */
@Timeout(60)
class PendingFuturesTest {
  private static final int COUNT = 200_000;

  private final PendingFutures pending = new PendingFutures();

  private PendingFutures.Entry added() {
    PendingFutures.Entry entry = new PendingFutures.Entry(new CompletableFuture<Void>());
    pending.add(entry);
    return entry;
  }

  private Thread awaiting() {
    return Thread.ofPlatform().daemon().start(pending::await);
  }

  @Test
  void entriesAreTakenOutOfTheMiddleAndFromBothEnds() throws Exception {
    List<PendingFutures.Entry> entries = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      entries.add(added());
    }
    for (int i : new int[] {3, 0, 6, 2, 5}) {
      pending.remove(entries.get(i));
      pending.remove(entries.get(i));
    }
    PendingFutures.Entry last = added();

    for (PendingFutures.Entry left : List.of(entries.get(1), entries.get(4), last)) {
      Thread waiting = awaiting();
      assertThat(waiting.join(Duration.ofMillis(20))).as("one is pending").isFalse();
      left.future.complete(null);
      pending.remove(left);
    }
    assertThatCode(pending::await).doesNotThrowAnyException();
  }

  @Test
  void whatIsWithdrawnIsComplete() {
    CompletableFuture<Void> future = new CompletableFuture<>();
    PendingFutures.Entry entry = new PendingFutures.Entry(future);
    pending.add(entry);
    pending.withdraw(entry);
    assertThat(future).isCompletedWithValue(null);
    pending.await();
  }

  /** A thread that waits sees all that other threads have added and not removed. */
  @Test
  void noneIsLostWhileThreadsAddAndRemove() throws Exception {
    LinkedBlockingQueue<PendingFutures.Entry> handed = new LinkedBlockingQueue<>(100);
    CompletableFuture<Void> kept = new CompletableFuture<>();
    pending.add(new PendingFutures.Entry(kept));
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      threads.add(Thread.ofPlatform().start(() -> addAll(handed)));
      threads.add(Thread.ofPlatform().start(() -> removeAll(handed)));
    }
    Thread waiting = awaiting();
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(waiting.isAlive()).as("it waits for the one that was kept").isTrue();
    kept.complete(null);
    assertThat(waiting.join(Duration.ofSeconds(30))).isTrue();
    pending.await();
  }

  private void addAll(LinkedBlockingQueue<PendingFutures.Entry> handed) {
    for (int i = 0; i < COUNT; i++) {
      try {
        handed.put(added());
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private void removeAll(LinkedBlockingQueue<PendingFutures.Entry> handed) {
    for (int i = 0; i < COUNT; i++) {
      try {
        PendingFutures.Entry entry = handed.take();
        entry.future.complete(null);
        pending.remove(entry);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
