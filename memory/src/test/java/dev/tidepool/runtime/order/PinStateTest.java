package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.spi.support.Uninterruptibly;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Bytes are not moved while an operation uses them, and no operation begins during a move. */
final class PinStateTest {
  private final MemoryWaiters waiters = new MemoryWaiters();
  private final PinState pins = new PinState(new Object());
  private final Operation kernel = Operation.of(List.of(), Runnable::run, () -> {});
  private final ResourceAccess use = ResourceAccess.read(new Bytes(waiters));

  @Test
  void nothingIsMovedUnderWorkThatIsUnderWay() {
    pins.begin(use);
    assertThat(pins.moveIfUnused(() -> {})).isFalse();
    pins.end(use);
    AtomicBoolean moved = new AtomicBoolean();
    assertThat(pins.moveIfUnused(() -> moved.set(true))).isTrue();
    assertThat(moved).isTrue();
    assertThat(pins.moveIfUnused(() -> {})).as("again").isTrue();
  }

  @Test
  void memoryIsOnItsWayUntilItWasGivenBack() {
    assertThat(pins.isLeaving()).isFalse();
    pins.close();
    assertThat(pins.others()).isEqualTo(PinState.Users.GOING_ON);
    assertThat(pins.isLeaving()).isTrue();
    pins.freed();
    assertThat(pins.others()).isEqualTo(PinState.Users.NONE);
    assertThat(pins.isLeaving()).isFalse();
  }

  @Test
  void workThatBeginsWaitsForTheEndOfAMoveAlsoWhenItIsInterrupted() throws Exception {
    AtomicBoolean moved = new AtomicBoolean();
    AtomicBoolean movedBefore = new AtomicBoolean();
    AtomicBoolean interrupted = new AtomicBoolean();
    AtomicReference<Thread> worker = new AtomicReference<>();
    assertThat(
            pins.moveIfUnused(
                () -> {
                  worker.set(
                      Thread.ofPlatform()
                          .start(
                              () -> {
                                pins.begin(use);
                                movedBefore.set(moved.get());
                                interrupted.set(Thread.interrupted());
                              }));
                  await().until(() -> worker.get().getState() == Thread.State.WAITING);
                  worker.get().interrupt();
                  assertThat(pins.isMoving()).isTrue();
                  assertThat(pins.moveIfUnused(() -> {})).as("a second move").isFalse();
                  moved.set(true);
                }))
        .isTrue();
    worker.get().join();
    assertThat(movedBefore).isTrue();
    assertThat(interrupted).isTrue();
    assertThat(pins.isMoving()).isFalse();
    assertThat(pins.moveIfUnused(() -> {})).isFalse();
  }

  @Test
  void aMoveThatFailsHoldsNobodyUp() {
    assertThatThrownBy(
            () ->
                pins.moveIfUnused(
                    () -> {
                      throw new IllegalStateException("on purpose");
                    }))
        .hasMessage("on purpose");
    pins.begin(use);
    pins.end(use);
    assertThat(pins.moveIfUnused(() -> {})).isTrue();
  }

  @Test
  void anOperationGoesOnUnlessItWaitsForMemory() throws Exception {
    assertThat(pins.others()).isEqualTo(PinState.Users.NONE);
    use.operation = kernel;
    pins.begin(use);
    assertThat(pins.others()).as("no thread yet").isEqualTo(PinState.Users.GOING_ON);
    AtomicReference<PinState.Users> own = new AtomicReference<>();
    CountDownLatch stopped = new CountDownLatch(1);
    CountDownLatch seen = new CountDownLatch(1);
    Thread runner =
        Thread.ofPlatform()
            .start(
                () -> {
                  kernel.take();
                  waiters.stops();
                  own.set(pins.others());
                  stopped.countDown();
                  Uninterruptibly.await(seen::await);
                  waiters.goesOn();
                });
    stopped.await();
    assertThat(pins.others()).as("for others").isEqualTo(PinState.Users.WAITING);
    seen.countDown();
    runner.join();
    assertThat(own).as("for itself").hasValue(PinState.Users.NONE);
    assertThat(pins.others()).as("with its memory").isEqualTo(PinState.Users.GOING_ON);
    pins.end(use);
    assertThat(pins.others()).isEqualTo(PinState.Users.NONE);
  }

  @Test
  void whatIsOnItsWayBackIsNotMoved() {
    pins.close();
    assertThat(pins.moveIfUnused(() -> {})).isFalse();
  }
}
