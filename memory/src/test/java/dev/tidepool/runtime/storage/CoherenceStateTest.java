package dev.tidepool.runtime.storage;

import static dev.tidepool.BufferState.DEVICE_DIRTY;
import static dev.tidepool.BufferState.DEVICE_ONLY;
import static dev.tidepool.BufferState.HOST_DIRTY;
import static dev.tidepool.BufferState.HOST_ONLY;
import static dev.tidepool.BufferState.SYNCHRONIZED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.BufferState;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The table of states, without the movements of bytes. */
class CoherenceStateTest {
  private static final long SIZE = 100;

  private static CoherenceState in(BufferState state) {
    CoherenceState made = new CoherenceState(new Object(), SIZE, false, state);
    if (state == HOST_DIRTY || state == DEVICE_DIRTY) {
      made = new CoherenceState(new Object(), SIZE, false, SYNCHRONIZED);
      if (state == HOST_DIRTY) {
        made.hostWritten(10, 20);
      } else {
        made.deviceWritten(10, 20);
      }
    }
    assertThat(made.get()).isEqualTo(state);
    return made;
  }

  /** The states after something happened in each of the five, in the order of the table. */
  private static BufferState[] after(Consumer<CoherenceState> happening) {
    BufferState[] before = {HOST_ONLY, DEVICE_ONLY, SYNCHRONIZED, HOST_DIRTY, DEVICE_DIRTY};
    BufferState[] after = new BufferState[before.length];
    for (int i = 0; i < before.length; i++) {
      CoherenceState state = in(before[i]);
      happening.accept(state);
      after[i] = state.get();
    }
    return after;
  }

  @Test
  void aWriteOfTheHostMakesItTheNewerSideWhereThereAreTwo() {
    assertThat(after(state -> state.hostWritten(0, 5)))
        .containsExactly(HOST_ONLY, HOST_DIRTY, HOST_DIRTY, HOST_DIRTY, HOST_DIRTY);
  }

  @Test
  void aWriteOfTheDeviceMakesItTheNewerSideWhereThereAreTwo() {
    assertThat(after(state -> state.deviceWritten(0, 5)))
        .containsExactly(DEVICE_DIRTY, DEVICE_ONLY, DEVICE_DIRTY, DEVICE_DIRTY, DEVICE_DIRTY);
  }

  @Test
  void aNewSecondCopyHasNoneOfTheBytes() {
    assertThat(after(CoherenceState::hostCopyMade))
        .containsExactly(HOST_ONLY, DEVICE_DIRTY, SYNCHRONIZED, HOST_DIRTY, DEVICE_DIRTY);
    assertThat(after(CoherenceState::deviceCopyMade))
        .containsExactly(HOST_DIRTY, DEVICE_ONLY, SYNCHRONIZED, HOST_DIRTY, DEVICE_DIRTY);
    CoherenceState state = in(DEVICE_ONLY);
    state.hostCopyMade();
    assertThat(state.dirtyWithin(0, SIZE)).containsExactly(new DirtyRanges.Range(0, SIZE));
  }

  @Test
  void onlyDirtyRangesAreMissingOnTheOtherSide() {
    CoherenceState state = in(HOST_DIRTY);
    assertThat(state.deviceHasNewest(0, 10)).isTrue();
    assertThat(state.deviceHasNewest(0, 11)).isFalse();
    assertThat(state.deviceHasNewest(20, SIZE)).isTrue();
    assertThat(state.hostHasNewest(0, SIZE)).isTrue();
    assertThat(state.isHostNewest()).isTrue();
    assertThat(state.isDeviceNewest()).isFalse();
    assertThat(state.dirtyWithin(15, SIZE)).containsExactly(new DirtyRanges.Range(15, 20));
  }

  @Test
  void bothSidesAreEqualWhenTheLastRangeHasArrived() {
    CoherenceState state = in(DEVICE_DIRTY);
    state.deviceWritten(50, 60);
    state.equal(state.dirtyWithin(0, 30));
    assertThat(state.get()).isEqualTo(DEVICE_DIRTY);
    assertThat(state.hostHasNewest(0, 30)).isTrue();
    state.equal(state.dirtyWithin(0, SIZE));
    assertThat(state.get()).isEqualTo(SYNCHRONIZED);
  }

  @Test
  void theHostsBytesCountAfterAFailedWriteOfTheDeviceIfTheyAreValid() {
    assertThat(after(state -> state.deviceWriteFailed(0, 5)))
        .containsExactly(HOST_ONLY, DEVICE_ONLY, HOST_DIRTY, HOST_DIRTY, DEVICE_DIRTY);
    CoherenceState state = in(SYNCHRONIZED);
    state.deviceWriteFailed(0, 5);
    assertThat(state.deviceHasNewest(0, 5)).isFalse();
    assertThat(state.deviceHasNewest(5, SIZE)).isTrue();
  }

  @Test
  void aRevokedLaunchMakesTheHostsBytesCountAgain() {
    CoherenceState state = in(SYNCHRONIZED);
    int seen = state.revocations();
    assertThat(state.deviceWillWrite(0, 50, seen)).isTrue();
    assertThat(state.get()).isEqualTo(DEVICE_DIRTY);
    assertThat(state.deviceWillWrite(0, 50, seen)).isFalse();
    assertThat(state.hasUnsettledWrites()).isTrue();
    state.deviceWriteSettled(0, 50, true);
    state.deviceWriteSettled(0, 50, false);
    assertThat(state.hasUnsettledWrites()).isFalse();
    assertThat(state.get()).isEqualTo(HOST_DIRTY);
    assertThat(state.deviceHasNewest(0, 50)).isFalse();
    assertThat(state.revocations()).isEqualTo(seen + 1);
  }

  @Test
  void aLaunchBehindARevokedOneExpectsNothing() {
    CoherenceState state = in(SYNCHRONIZED);
    int seen = state.revocations();
    assertThat(state.deviceWillWrite(0, 50, seen)).isTrue();
    state.deviceWriteSettled(0, 50, true);
    assertThat(state.deviceWillWrite(50, SIZE, seen)).isFalse();
    assertThat(state.get()).isEqualTo(HOST_DIRTY);
    assertThat(state.deviceHasNewest(0, SIZE)).isFalse();
  }

  @Test
  void aCopyInPlaceChangesNoState() {
    assertThat(in(HOST_ONLY).isWritableInPlace()).isTrue();
    assertThat(in(SYNCHRONIZED).isWritableInPlace()).isFalse();
    CoherenceState state = in(HOST_DIRTY);
    assertThat(state.isWritableInPlace()).isFalse();
    assertThat(state.isHostDirtyEverywhere()).isFalse();
    state.hostWritten(0, SIZE);
    assertThat(state.isWritableInPlace()).isTrue();
    assertThat(state.isHostDirtyEverywhere()).isTrue();
    CoherenceState shared = new CoherenceState(new Object(), SIZE, true, DEVICE_ONLY);
    assertThat(shared.isWritableInPlace()).isTrue();
  }
}
