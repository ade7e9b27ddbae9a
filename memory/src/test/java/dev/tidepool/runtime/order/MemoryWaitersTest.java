package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.spi.LaunchOrder;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A request that waits for memory is told of each release, but not of its own. */
@Timeout(60)
final class MemoryWaitersTest {
  private static final long LONG = TimeUnit.HOURS.toNanos(1);

  private final MemoryWaiters waiters = new MemoryWaiters();
  private final Object device = new Object();

  private void elsewhere(Runnable action) throws InterruptedException {
    Thread.ofPlatform().start(action).join();
  }

  @Test
  void whatWasReleasedBeforeTheWaitEndsIt() throws InterruptedException {
    try (MemoryWaiters.Waiter waiter = waiters.enter(device)) {
      elsewhere(() -> waiters.released(device));
      MemoryWaiters.Changes changes = waiter.await(LONG);
      assertThat(changes.any).isTrue();
      assertThat(changes.anyFreed()).isTrue();
      assertThat(changes.released()).isEmpty();
      assertThat(waiter.await(0).any).as("it is told once").isFalse();
    }
  }

  @Test
  void aReleaseEndsAWaitThatHasBegun() throws InterruptedException {
    Thread waiting = Thread.currentThread();
    try (MemoryWaiters.Waiter waiter = waiters.enter(device)) {
      Thread releasing =
          Thread.ofPlatform()
              .start(
                  () -> {
                    await().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
                    waiters.released(device);
                  });
      assertThat(waiter.await(LONG).anyFreed()).isTrue();
      releasing.join();
    }
  }

  @Test
  void anotherDevicesMemoryAndAThreadThatStopsAreNewsButFreeNothing() throws InterruptedException {
    try (MemoryWaiters.Waiter waiter = waiters.enter(device)) {
      elsewhere(() -> waiters.released(new Object()));
      MemoryWaiters.Changes changes = waiter.await(LONG);
      assertThat(changes.any).isTrue();
      assertThat(changes.anyFreed()).isFalse();
      elsewhere(
          () -> {
            waiters.beginBlocked();
            assertThat(MemoryWaiters.isBlocked(Thread.currentThread())).isTrue();
            waiters.endBlocked();
            assertThat(MemoryWaiters.isBlocked(Thread.currentThread())).isFalse();
          });
      changes = waiter.await(LONG);
      assertThat(changes.any).isTrue();
      assertThat(changes.anyFreed()).isFalse();
    }
  }

  @Test
  void aLendingThatBeginsIsNewsButFreesNothing() throws InterruptedException {
    Bytes bytes = new Bytes(waiters);
    LaunchQueues queues =
        new LaunchQueues(List.of(Launches.queue()), LaunchOrder.IN_QUEUE, Runnable::run);
    Operation lending =
        Operation.of(List.of(ResourceAccess.lending(bytes, true)), Runnable::run, () -> {})
            .launching(DeviceLaunch.lending(queues, null, true, Launches.command()));
    try (MemoryWaiters.Waiter waiter = waiters.enter(device)) {
      elsewhere(() -> lending.perform(true));
      assertThat(lending.isLent()).isTrue();
      MemoryWaiters.Changes changes = waiter.await(0);
      assertThat(changes.any).isTrue();
      assertThat(changes.anyFreed()).isFalse();
    }
  }

  @Test
  void whatTheWaitingThreadDoesIsNoNews() {
    try (MemoryWaiters.Waiter waiter = waiters.enter(device)) {
      waiters.released(device);
      waiters.beginBlocked();
      waiters.endBlocked();
      assertThat(waiter.await(0).any).isFalse();
    }
  }

  @Test
  void nobodyHearsOfAnythingBeforeAndAfter() throws InterruptedException {
    waiters.released(device);
    AtomicReference<MemoryWaiters.Waiter> left = new AtomicReference<>();
    try (MemoryWaiters.Waiter waiter = waiters.enter(device)) {
      left.set(waiter);
      assertThat(waiter.await(0).any).isFalse();
    }
    elsewhere(() -> waiters.released(device));
    assertThat(left.get().await(0).any).isFalse();
  }

  @Test
  void anInterruptDoesNotEndTheWaitAndStaysSet() throws InterruptedException {
    Thread waiting = Thread.currentThread();
    try (MemoryWaiters.Waiter waiter = waiters.enter(device)) {
      waiting.interrupt();
      Thread releasing =
          Thread.ofPlatform()
              .start(
                  () -> {
                    await().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
                    waiters.released(device);
                  });
      assertThat(waiter.await(LONG).anyFreed()).isTrue();
      assertThat(Thread.interrupted()).isTrue();
      releasing.join();
    }
  }
}
