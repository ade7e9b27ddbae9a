package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Work that is under way and who moves its bytes keep off each other. */
final class PinStateTest {
  private final MemoryWaiters waiters = new MemoryWaiters();
  private final PinState pins = new PinState(new Object());
  private final Operation kernel = Operation.of(List.of(), Runnable::run, () -> {});
  private final PriorUse lastUse = new PriorUse(List.of(kernel), kernel);

  @Test
  void nothingIsMovedUnderWorkThatIsUnderWay() {
    pins.begin(lastUse);
    assertThat(pins.moveIfUnused(() -> {})).isFalse();
    pins.endLastUse();
    AtomicBoolean moved = new AtomicBoolean();
    assertThat(pins.moveIfUnused(() -> moved.set(true))).isTrue();
    assertThat(moved).isTrue();
    assertThat(pins.moveIfUnused(() -> {})).as("again").isTrue();
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
                                pins.begin(lastUse);
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
    pins.begin(lastUse);
    pins.endLastUse();
    assertThat(pins.moveIfUnused(() -> {})).isTrue();
  }

  @Test
  void aLastUseGoesOnUnlessItHasNotBegunOrWaitsForMemory() throws Exception {
    assertThat(pins.others()).isEqualTo(PinState.Users.NONE);
    pins.begin(lastUse);
    assertThat(pins.others()).as("not begun").isEqualTo(PinState.Users.WAITING);
    AtomicReference<PinState.Users> running = new AtomicReference<>();
    AtomicReference<PinState.Users> waiting = new AtomicReference<>();
    Thread runner =
        Thread.ofPlatform()
            .start(
                () -> {
                  kernel.take();
                  running.set(pins.others());
                  waiters.stops();
                  waiting.set(pins.others());
                  waiters.goesOn();
                });
    runner.join();
    assertThat(running).hasValue(PinState.Users.GOING_ON);
    assertThat(waiting).hasValue(PinState.Users.WAITING);
    pins.endLastUse();
    assertThat(pins.others()).isEqualTo(PinState.Users.NONE);
  }

  @Test
  void whatIsOnItsWayBackIsNotMoved() {
    pins.close();
    assertThat(pins.moveIfUnused(() -> {})).isFalse();
  }
}
