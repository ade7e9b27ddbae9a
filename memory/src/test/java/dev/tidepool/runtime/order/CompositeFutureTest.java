package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What cancelling an operation of several parts leaves behind. */
class CompositeFutureTest {
  private final List<String> asked = new ArrayList<>();

  /** A part that is waiting, or one that has started and cannot be stopped. */
  private final class Part extends CompletableFuture<Void> {
    private final String name;
    private final boolean started;

    Part(String name, boolean started) {
      this.name = name;
      this.started = started;
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      asked.add(name);
      return !started && super.cancel(mayInterruptIfRunning);
    }
  }

  @Test
  void anOperationOfWhichAPartWasStoppedNeverCountsAsDone() {
    Part waiting = new Part("waiting", false);
    Part running = new Part("running", true);
    CompletableFuture<Void> joint = CompositeFuture.of(List.of(waiting, running));
    assertThat(joint.cancel(false)).as("a part still runs").isFalse();
    assertThat(joint).isNotDone();
    running.complete(null);
    assertThat(joint).isCancelled();
  }

  @Test
  void anOperationWhosePartsAreAllStoppedIsCancelledAtOnce() {
    CompletableFuture<Void> joint =
        CompositeFuture.of(List.of(new Part("first", false), new Part("last", false)));
    assertThat(joint.cancel(false)).isTrue();
    assertThat(joint).isCancelled();
  }

  @Test
  void partsAreStoppedFromTheLastSoThatNoneStartsOnWhatIsMissing() {
    CompositeFuture.of(
            List.of(new Part("in", false), new Part("launch", false), new Part("out", false)))
        .cancel(false);
    assertThat(asked).containsExactly("out", "launch", "in");
  }

  @Test
  void anOperationWhosePartsHaveAllStartedCannotBeCancelled() {
    Part running = new Part("running", true);
    Part other = new Part("other", true);
    CompletableFuture<Void> joint = CompositeFuture.of(List.of(running, other));
    assertThat(joint.cancel(false)).isFalse();
    running.complete(null);
    other.complete(null);
    assertThat(joint).isCompletedWithValue(null);
  }
}
