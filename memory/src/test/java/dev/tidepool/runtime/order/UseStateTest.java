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
final class UseStateTest {
  private final MemoryWaiters waiters = new MemoryWaiters();
  private final UseState state = new UseState(new Object());
  private final Operation kernel = Operation.of(List.of(), Runnable::run, () -> {});
  private final ResourceAccess use = ResourceAccess.read(new Bytes(waiters));

  @Test
  void nothingIsMovedUnderWorkThatIsUnderWay() {
    state.begin(use);
    assertThat(state.moveIfUnused(() -> {})).isFalse();
    state.end(use);
    AtomicBoolean moved = new AtomicBoolean();
    assertThat(state.moveIfUnused(() -> moved.set(true))).isTrue();
    assertThat(moved).isTrue();
    assertThat(state.moveIfUnused(() -> {})).as("again").isTrue();
  }

  @Test
  void memoryIsOnItsWayUntilItWasGivenBack() {
    assertThat(state.isLeaving()).isFalse();
    state.close();
    assertThat(state.others()).isEqualTo(UseState.Users.GOING_ON);
    assertThat(state.isLeaving()).isTrue();
    state.freed();
    assertThat(state.others()).isEqualTo(UseState.Users.NONE);
    assertThat(state.isLeaving()).isFalse();
  }

  @Test
  void workThatBeginsWaitsForTheEndOfAMoveAlsoWhenItIsInterrupted() throws Exception {
    AtomicBoolean moved = new AtomicBoolean();
    AtomicBoolean movedBefore = new AtomicBoolean();
    AtomicBoolean interrupted = new AtomicBoolean();
    AtomicReference<Thread> worker = new AtomicReference<>();
    assertThat(
            state.moveIfUnused(
                () -> {
                  worker.set(
                      Thread.ofPlatform()
                          .start(
                              () -> {
                                state.begin(use);
                                movedBefore.set(moved.get());
                                interrupted.set(Thread.interrupted());
                              }));
                  await().until(() -> worker.get().getState() == Thread.State.WAITING);
                  worker.get().interrupt();
                  assertThat(state.isMoving()).isTrue();
                  assertThat(state.moveIfUnused(() -> {})).as("a second move").isFalse();
                  moved.set(true);
                }))
        .isTrue();
    worker.get().join();
    assertThat(movedBefore).isTrue();
    assertThat(interrupted).isTrue();
    assertThat(state.isMoving()).isFalse();
    assertThat(state.moveIfUnused(() -> {})).isFalse();
  }

  @Test
  void aMoveThatFailsHoldsNobodyUp() {
    assertThatThrownBy(
            () ->
                state.moveIfUnused(
                    () -> {
                      throw new IllegalStateException("on purpose");
                    }))
        .hasMessage("on purpose");
    state.begin(use);
    state.end(use);
    assertThat(state.moveIfUnused(() -> {})).isTrue();
  }

  @Test
  void anOperationGoesOnUnlessItWaitsForMemory() throws Exception {
    assertThat(state.others()).isEqualTo(UseState.Users.NONE);
    use.operation = kernel;
    state.begin(use);
    assertThat(state.others()).as("no thread yet").isEqualTo(UseState.Users.GOING_ON);
    AtomicReference<UseState.Users> own = new AtomicReference<>();
    CountDownLatch stopped = new CountDownLatch(1);
    CountDownLatch seen = new CountDownLatch(1);
    Thread runner =
        Thread.ofPlatform()
            .start(
                () -> {
                  kernel.take();
                  waiters.beginBlocked();
                  own.set(state.others());
                  stopped.countDown();
                  Uninterruptibly.await(seen::await);
                  waiters.endBlocked();
                });
    stopped.await();
    assertThat(state.others()).as("for others").isEqualTo(UseState.Users.WAITING);
    seen.countDown();
    runner.join();
    assertThat(own).as("for itself").hasValue(UseState.Users.NONE);
    assertThat(state.others()).as("with its memory").isEqualTo(UseState.Users.GOING_ON);
    state.end(use);
    assertThat(state.others()).isEqualTo(UseState.Users.NONE);
  }

  @Test
  void whatIsOnItsWayBackIsNotMoved() {
    state.close();
    assertThat(state.moveIfUnused(() -> {})).isFalse();
  }
}
