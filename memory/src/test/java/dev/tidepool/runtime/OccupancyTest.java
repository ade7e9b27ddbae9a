package dev.tidepool.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Work that is under way and who moves its bytes keep off each other. */
final class OccupancyTest {
  private final Occupancy occupancy = new Occupancy(new Object());
  private final MemoryWaiters waiters = new MemoryWaiters();
  private final Work kernel = Work.of(List.of(), Runnable::run, () -> {});
  private final LastUse lastUse = new LastUse(List.of(kernel), kernel);

  @Test
  void nothingIsMovedUnderWorkThatIsUnderWay() {
    occupancy.begin(lastUse);
    assertThat(occupancy.moveIfUnused(() -> {})).isFalse();
    occupancy.endLastUse();
    AtomicBoolean moved = new AtomicBoolean();
    assertThat(occupancy.moveIfUnused(() -> moved.set(true))).isTrue();
    assertThat(moved).isTrue();
    assertThat(occupancy.moveIfUnused(() -> {})).as("again").isTrue();
  }

  @Test
  void workThatBeginsWaitsForTheEndOfAMoveAlsoWhenItIsInterrupted() throws Exception {
    AtomicBoolean moved = new AtomicBoolean();
    AtomicBoolean movedBefore = new AtomicBoolean();
    AtomicBoolean interrupted = new AtomicBoolean();
    AtomicReference<Thread> worker = new AtomicReference<>();
    assertThat(
            occupancy.moveIfUnused(
                () -> {
                  worker.set(
                      Thread.ofPlatform()
                          .start(
                              () -> {
                                occupancy.begin(lastUse);
                                movedBefore.set(moved.get());
                                interrupted.set(Thread.interrupted());
                              }));
                  await().until(() -> worker.get().getState() == Thread.State.WAITING);
                  worker.get().interrupt();
                  assertThat(occupancy.isMoving()).isTrue();
                  assertThat(occupancy.moveIfUnused(() -> {})).as("a second move").isFalse();
                  moved.set(true);
                }))
        .isTrue();
    worker.get().join();
    assertThat(movedBefore).isTrue();
    assertThat(interrupted).isTrue();
    assertThat(occupancy.isMoving()).isFalse();
    assertThat(occupancy.moveIfUnused(() -> {})).isFalse();
  }

  @Test
  void aMoveThatFailsHoldsNobodyUp() {
    assertThatThrownBy(
            () ->
                occupancy.moveIfUnused(
                    () -> {
                      throw new IllegalStateException("on purpose");
                    }))
        .hasMessage("on purpose");
    occupancy.begin(lastUse);
    occupancy.endLastUse();
    assertThat(occupancy.moveIfUnused(() -> {})).isTrue();
  }

  @Test
  void aLastUseGoesOnUnlessItHasNotBegunOrWaitsForMemory() throws Exception {
    assertThat(occupancy.others()).isEqualTo(Occupancy.Users.NONE);
    occupancy.begin(lastUse);
    assertThat(occupancy.others()).as("not begun").isEqualTo(Occupancy.Users.WAITING);
    AtomicReference<Occupancy.Users> running = new AtomicReference<>();
    AtomicReference<Occupancy.Users> waiting = new AtomicReference<>();
    Thread runner =
        Thread.ofPlatform()
            .start(
                () -> {
                  kernel.take();
                  running.set(occupancy.others());
                  waiters.stops();
                  waiting.set(occupancy.others());
                  waiters.goesOn();
                });
    runner.join();
    assertThat(running).hasValue(Occupancy.Users.GOING_ON);
    assertThat(waiting).hasValue(Occupancy.Users.WAITING);
    occupancy.endLastUse();
    assertThat(occupancy.others()).isEqualTo(Occupancy.Users.NONE);
  }

  @Test
  void whatIsOnItsWayBackIsNotMoved() {
    occupancy.close();
    assertThat(occupancy.moveIfUnused(() -> {})).isFalse();
  }
}
