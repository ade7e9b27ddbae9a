package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.LogLines;
import dev.tidepool.runtime.threads.FutureCompleter;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class OperationFutureTest {
  private static final Duration PAUSE = Duration.ofMillis(1100);

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
  void aFailureIsLoggedIfItsFutureIsDropped() {
    awaitLines(1);
    // A spurious line could appear from now on.
    await().pollDelay(PAUSE).until(() -> true);
    List<WeakReference<CompletableFuture<Void>>> seen =
        List.of(
            failed("joined", dropped -> dropped.exceptionNow()),
            failed("has a stage", dropped -> dropped.whenComplete((_, _) -> {})),
            failed("has a minimal stage", CompletableFuture::minimalCompletionStage),
            failed("is combined", dropped -> combined(dropped)),
            failed("was awaited by a stage", CompletableFuture::allOf, _ -> {}));
    await().until(() -> areCollected(seen));
    awaitLines(2);
    assertThat(log.all())
        .containsOnly(
            "asynchronous work failed, and its future was dropped:"
                + " java.lang.IllegalStateException: dropped");
  }

  /** Drops failures until there are lines. There is at most one in each {@link #PAUSE}. */
  private void awaitLines(int count) {
    await()
        .until(
            () -> {
              var _ = failed("dropped", _ -> {});
              System.gc();
              return log.all().size() >= count;
            });
  }

  private static boolean areCollected(List<WeakReference<CompletableFuture<Void>>> futures) {
    System.gc();
    return futures.stream().allMatch(future -> future.refersTo(null));
  }

  private static WeakReference<CompletableFuture<Void>> failed(
      String failure, Consumer<CompletableFuture<Void>> look) {
    return failed(failure, _ -> {}, look);
  }

  private static WeakReference<CompletableFuture<Void>> failed(
      String failure,
      Consumer<CompletableFuture<Void>> before,
      Consumer<CompletableFuture<Void>> after) {
    Operation operation = failing(failure);
    CompletableFuture<Void> dropped = reserved(operation);
    before.accept(dropped);
    operation.begin();
    assertThat(dropped.isDone()).isTrue();
    after.accept(dropped);
    return new WeakReference<>(dropped);
  }

  private static void combined(CompletableFuture<Void> other) {
    var _ = CompletableFuture.completedFuture(1).thenCombine(other, (_, _) -> 1);
  }

  /** A manager that is closed or synchronized waits for all futures. */
  @Test
  void aThreadThatWaitsForAllFuturesDoesNotCountAsTheOneThatLooks() {
    await()
        .until(
            () -> {
              failsWhileAThreadWaitsForAll();
              System.gc();
              return !log.all().isEmpty();
            });
  }

  private static void failsWhileAThreadWaitsForAll() throws Exception {
    PendingFutures pending = new PendingFutures();
    Operation operation = failing("dropped");
    var _ =
        OperationFuture.reserve(operation, new FutureCompleter(Runnable::run), pending, () -> {});
    Thread waiting = Thread.ofPlatform().daemon().start(pending::await);
    await().until(() -> waiting.getState() == Thread.State.WAITING);
    operation.begin();
    assertThat(waiting.join(Duration.ofSeconds(30))).isTrue();
  }

  /** A manager tracks the futures of launches that consist of several operations. */
  @Test
  void aFailureOfSeveralOperationsIsLoggedIfTheirFutureIsDropped() {
    await()
        .until(
            () -> {
              failsWhileItIsTracked();
              System.gc();
              return !log.all().isEmpty();
            });
  }

  private static void failsWhileItIsTracked() {
    PendingFutures pending = new PendingFutures();
    Operation operation = failing("dropped");
    List<CompletableFuture<Void>> parts =
        List.of(CompletableFuture.completedFuture(null), reserved(operation));
    var _ = pending.track(CompositeFuture.of(parts, Runnable::run));
    operation.begin();
    pending.await();
  }

  private static Operation failing(String message) {
    return Operation.of(
        List.of(),
        Runnable::run,
        () -> {
          throw new IllegalStateException(message);
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
