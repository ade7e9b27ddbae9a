package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.runtime.threads.FutureCompleter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
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

  /** A thread that closes a manager waits for pending futures while another asks for work. */
  @Test
  void workThatIsRefusedHoldsUpNoThreadThatWaitsForPendingFutures() throws Exception {
    PendingFutures pending = new PendingFutures();
    AtomicReference<@Nullable Thread> closing = new AtomicReference<>();
    Bytes closed =
        new Bytes(new MemoryWaiters()) {
          @Override
          public void check(ResourceAccess use, long nowNanos) {
            Thread waiting = Thread.ofPlatform().daemon().start(pending::await);
            closing.set(waiting);
            await().until(() -> waiting.getState() == Thread.State.WAITING);
            throw new IllegalStateException("closed");
          }
        };
    Operation refused =
        Operation.of(List.of(ResourceAccess.write(closed)), Runnable::run, () -> ran.set(true));
    assertThatThrownBy(
            () ->
                OperationFuture.submit(
                    refused, new FutureCompleter(Runnable::run), pending, () -> {}))
        .hasMessage("closed");
    assertThat(closing.get().join(Duration.ofSeconds(30)))
        .as("the closing thread goes on")
        .isTrue();
    assertThat(ran).isFalse();
  }
}
