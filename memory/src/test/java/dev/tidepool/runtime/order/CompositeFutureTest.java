package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.runtime.threads.Resumable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How an operation of several parts ends, and what cancelling it leaves behind. */
@Timeout(60)
class CompositeFutureTest {
  private final List<String> asked = new ArrayList<>();

  /** A part that is waiting, or one that has started and cannot be stopped. */
  private class Part extends CompletableFuture<Void> {
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
    CompletableFuture<Void> joint = CompositeFuture.of(List.of(waiting, running), Runnable::run);
    assertThat(joint.cancel(false)).as("a part still runs").isFalse();
    assertThat(joint).isNotDone();
    running.complete(null);
    assertThat(joint).isCancelled();
  }

  @Test
  void anOperationWhosePartsAreAllStoppedIsCancelledAtOnce() {
    CompletableFuture<Void> joint =
        CompositeFuture.of(
            List.of(new Part("first", false), new Part("last", false)), Runnable::run);
    assertThat(joint.cancel(false)).isTrue();
    assertThat(joint).isCancelled();
  }

  /** Users' stages may block, which the maintenance thread must not. */
  @Test
  void whatAFullHeapHeldUpCompletesOnAThreadOfItsOwn() {
    AtomicBoolean full = new AtomicBoolean(true);
    Part last =
        new Part("last", true) {
          @Override
          public boolean isCancelled() {
            if (full.getAndSet(false)) {
              throw new OutOfMemoryError("on purpose");
            }
            return super.isCancelled();
          }
        };
    Part first = new Part("first", true);
    CompletableFuture<Void> joint =
        CompositeFuture.of(List.of(first, last), task -> Thread.ofVirtual().start(task));
    CompletableFuture<Thread> stage = joint.thenApply(_ -> Thread.currentThread());
    first.complete(null);
    last.complete(null);
    assertThat(full).as("the first attempt was refused").isFalse();
    Resumable.resumeAll();
    assertThat(stage.join().isVirtual()).isTrue();
  }

  @Test
  void partsAreStoppedFromTheLastSoThatNoneStartsOnWhatIsMissing() {
    CompositeFuture.of(
            List.of(new Part("in", false), new Part("launch", false), new Part("out", false)),
            Runnable::run)
        .cancel(false);
    assertThat(asked).containsExactly("out", "launch", "in");
  }

  @Test
  void anOperationWhosePartsHaveAllStartedCannotBeCancelled() {
    Part running = new Part("running", true);
    Part other = new Part("other", true);
    CompletableFuture<Void> joint = CompositeFuture.of(List.of(running, other), Runnable::run);
    assertThat(joint.cancel(false)).isFalse();
    running.complete(null);
    other.complete(null);
    assertThat(joint).isCompletedWithValue(null);
  }
}
