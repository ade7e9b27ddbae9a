package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.runtime.threads.FutureCompleter;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class OperationFutureTest {
  private final AtomicBoolean ran = new AtomicBoolean();
  private final Operation work = Operation.of(List.of(), Runnable::run, () -> ran.set(true));
  private final CompletableFuture<Void> future =
      OperationFuture.reserve(
          work, new FutureCompleter(Runnable::run), new PendingFutures(), () -> {});

  @Test
  void workThatHasRunIsDoneAndCannotBeCancelled() {
    work.begin();
    assertThat(ran).isTrue();
    assertThat(future.cancel(false)).isFalse();
    assertThat(future).isCompleted();
  }

  @Test
  void workThatIsCancelledDoesNotRun() {
    assertThat(future.cancel(false)).isTrue();
    assertThat(future).isCancelled();
    work.begin();
    assertThat(ran).isFalse();
    assertThat(future).isCancelled();
  }

  /** Its turn may come while another thread is in the middle of cancelling it. */
  @Test
  void workThatWasStoppedNeverSaysThatItWasDone() {
    assertThat(work.cancel()).isTrue();
    work.begin();
    assertThat(ran).isFalse();
    assertThat(future).isCancelled();
    assertThat(future.cancel(false)).isTrue();
  }
}
