package dev.tidepool.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Work that is under way and who moves its bytes keep off each other. */
final class OccupancyTest {
  private final Occupancy occupancy = new Occupancy(new Object());

  @Test
  void nothingIsMovedUnderWorkThatIsUnderWay() {
    occupancy.begin();
    occupancy.begin();
    occupancy.end();
    assertThat(occupancy.moveIfUnused(() -> {})).isFalse();
    occupancy.end();
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
                                occupancy.begin();
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
    occupancy.begin();
    occupancy.end();
    assertThat(occupancy.moveIfUnused(() -> {})).isTrue();
  }

  @Test
  void whatIsOnItsWayBackIsNotMoved() {
    occupancy.close();
    assertThat(occupancy.moveIfUnused(() -> {})).isFalse();
  }
}
