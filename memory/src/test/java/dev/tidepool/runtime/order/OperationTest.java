package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.runtime.buffer.SmallTransferBatch;
import dev.tidepool.runtime.threads.Resumable;
import dev.tidepool.runtime.threads.TransferExecutor;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What comes behind an operation runs, whichever thread ends that operation. */
@Timeout(120)
class OperationTest {
  private final Bytes bytes = new Bytes(new MemoryWaiters());
  private final AtomicReference<Thread> worker = new AtomicReference<>();
  private final TransferExecutor executor =
      new TransferExecutor(1, this::newWorker, SmallTransferBatch::next);
  private final CountDownLatch asked = new CountDownLatch(1);
  private final CountDownLatch ran = new CountDownLatch(1);
  private final Operation behind = Operation.always(bytes, executor, ran::countDown);

  private Thread newWorker(Runnable task) {
    Thread thread = Thread.ofPlatform().daemon().unstarted(task);
    worker.set(thread);
    return thread;
  }

  private Operation operation(Runnable body) {
    return Operation.of(List.of(ResourceAccess.write(bytes)), executor, body);
  }

  /** It has looked for its next task, and found none. */
  private void awaitIdleWorker() {
    await().until(() -> worker.get().getState() == Thread.State.TIMED_WAITING);
  }

  private void assertThatTheOneBehindRuns() throws InterruptedException {
    assertThat(ran.await(20, TimeUnit.SECONDS)).as("it runs").isTrue();
  }

  @AfterEach
  void close() {
    executor.close();
  }

  @Test
  void whatComesBehindRunsWhereTheMaintenanceThreadEndsTheOperation() throws Exception {
    AtomicInteger failures = new AtomicInteger();
    operation(
            () -> {
              Uninterruptibly.await(asked::await);
              throw new IllegalStateException("on purpose");
            })
        .failing(
            _ -> {
              if (failures.incrementAndGet() <= 2) {
                throw new OutOfMemoryError("on purpose");
              }
            })
        .submit(_ -> {});
    behind.release(false);
    asked.countDown();
    awaitIdleWorker();
    // The maintenance thread of another test's session may have tried a third time by now.
    assertThat(failures).as("the worker tried twice").hasValueGreaterThanOrEqualTo(2);
    Resumable.resumeAll();
    assertThatTheOneBehindRuns();
  }

  /** As a thread does that waited for the operation, and cannot go on. */
  @Test
  void whatComesBehindRunsWhereAnotherThreadRanTheOperation() throws Exception {
    executor.execute(() -> Uninterruptibly.await(asked::await));
    Operation taken =
        operation(
            () -> {
              asked.countDown();
              awaitIdleWorker();
            });
    taken.submit(_ -> {});
    behind.release(false);
    taken.run();
    assertThatTheOneBehindRuns();
  }
}
