package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.LogLines;
import dev.tidepool.runtime.threads.FutureCompleter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class OperationFutureTest {
  private final AtomicBoolean ran = new AtomicBoolean();
  private final Operation work = Operation.of(List.of(), Runnable::run, () -> ran.set(true));
  private final CompletableFuture<Void> future = reserved(work);
  @RegisterExtension final LogLines log = new LogLines();

  private static CompletableFuture<Void> reserved(Operation operation) {
    return OperationFuture.reserve(
        operation, new FutureCompleter(Runnable::run), new PendingFutures(), () -> {});
  }

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

  /** The future alone has the failure, and the caller may not have kept it. */
  @Test
  void aFailureIsLoggedIfNothingWaitsForTheFuture() {
    Logger logger = Logger.getLogger("dev.tidepool");
    logger.setLevel(Level.FINE);
    try {
      Operation watched = failing();
      var _ = reserved(watched).exceptionally(_ -> null);
      watched.begin();
      assertThat(log.all()).isEmpty();
      Operation forgotten = failing();
      assertThat(reserved(forgotten)).isNotDone();
      forgotten.begin();
      assertThat(log.all())
          .containsExactly("asynchronous work failed, and nothing waited for its future");
    } finally {
      logger.setLevel(null);
    }
  }

  private static Operation failing() {
    return Operation.of(
        List.of(),
        Runnable::run,
        () -> {
          throw new IllegalStateException("failed");
        });
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
