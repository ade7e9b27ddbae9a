package dev.tidepool.runtime.reclaim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GarbageCollectionTest {
  @Test
  void requestsThatComeDuringARunShareTheNextOne() throws InterruptedException {
    AtomicInteger runs = new AtomicInteger();
    CountDownLatch firstRuns = new CountDownLatch(1);
    CountDownLatch firstMayEnd = new CountDownLatch(1);
    GarbageCollection collection =
        new GarbageCollection(
            () -> {
              if (runs.incrementAndGet() == 1) {
                firstRuns.countDown();
                awaitQuietly(firstMayEnd);
              }
              return runs.get();
            });
    Thread first = Thread.ofPlatform().start(collection::run);
    firstRuns.await();
    List<Long> delays = new ArrayList<>();
    List<Thread> others = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      others.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    long delay = collection.run();
                    synchronized (delays) {
                      delays.add(delay);
                    }
                  }));
    }
    for (Thread other : others) {
      awaitWaiting(other);
    }
    // The run under way may have passed what became unreachable before they came.
    assertThat(runs).hasValue(1);

    firstMayEnd.countDown();
    first.join();
    for (Thread other : others) {
      other.join();
    }

    assertThat(runs).hasValue(2);
    assertThat(delays).hasSize(8).containsOnly(2L);
  }

  @Test
  void aRequestThatComesAfterARunGetsItsOwn() {
    AtomicInteger runs = new AtomicInteger();
    GarbageCollection collection = new GarbageCollection(runs::incrementAndGet);

    assertThat(collection.run()).isEqualTo(1);
    assertThat(collection.run()).isEqualTo(2);
  }

  @Test
  void aRunThatFailedServesNoRequest() {
    AtomicInteger runs = new AtomicInteger();
    GarbageCollection collection =
        new GarbageCollection(
            () -> {
              if (runs.incrementAndGet() == 1) {
                throw new OutOfMemoryError("no room for the reference");
              }
              return runs.get();
            });

    assertThatThrownBy(collection::run).isInstanceOf(OutOfMemoryError.class);
    assertThat(collection.run()).isEqualTo(2);
  }

  /** The requests that share the run wait as long as its first reference was late. */
  @Test
  void anInterruptDoesNotEndTheWaitForTheFirstReference() {
    for (int i = 0; i < 20; i++) {
      Thread.currentThread().interrupt();
      assertThat(GarbageCollection.SHARED.run()).isPositive();
      assertThat(Thread.interrupted()).isTrue();
    }
  }

  private static void awaitWaiting(Thread thread) throws InterruptedException {
    while (thread.getState() != Thread.State.WAITING) {
      Thread.sleep(1);
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
