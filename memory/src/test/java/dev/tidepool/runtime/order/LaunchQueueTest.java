package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.runtime.threads.FutureCompleter;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.LaunchOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Where launches end fast, the thread that waits for the ends pauses, unless the host waits. */
@Timeout(60)
class LaunchQueueTest {
  private static final long LONG_PAUSE = Duration.ofMinutes(10).toNanos();

  private final Bytes bytes = new Bytes(new MemoryWaiters());
  private final AtomicReference<@Nullable Thread> waiting = new AtomicReference<>();
  private final ExecutorService threads = Executors.newSingleThreadExecutor(this::newThread);
  private final LaunchQueues queues =
      new LaunchQueues(List.of(Launches.queue()), LaunchOrder.IN_QUEUE, threads, LONG_PAUSE);
  private final FutureCompleter completer = new FutureCompleter(Runnable::run);
  private final PendingFutures pending = new PendingFutures();

  private Thread newThread(Runnable task) {
    Thread thread = Thread.ofPlatform().daemon().unstarted(task);
    waiting.set(thread);
    return thread;
  }

  private boolean isPausing() {
    Thread thread = waiting.get();
    return thread != null && thread.getState() == Thread.State.TIMED_WAITING;
  }

  @AfterEach
  void end() {
    threads.shutdownNow();
  }

  private static final class Ended implements Event {
    @Override
    public boolean isDone() {
      return true;
    }

    @Override
    public void await() {}

    @Override
    public void close() {}
  }

  /** Asks for a launch whose command has ended when it is submitted. */
  private CompletableFuture<Void> launch() {
    return launch(Runnable::run);
  }

  private CompletableFuture<Void> launch(Executor executor) {
    DeviceLaunch launch = Launches.launch(queues);
    Operation operation =
        Operation.of(
                List.of(ResourceAccess.onDevice(bytes, true)),
                executor,
                () -> launch.submit((_, _) -> new Ended()))
            .launching(launch);
    return OperationFuture.submit(operation, completer, pending, () -> {});
  }

  /** Returns the future of a launch that the thread that waits tells of when its pause ends. */
  private CompletableFuture<Void> launchedInThePause() {
    AtomicInteger untold = new AtomicInteger();
    while (!isPausing()) {
      // Fewer than there are places: the last one must be submitted.
      if (untold.get() < LaunchQueue.PLACES / 2) {
        untold.incrementAndGet();
        var _ = launch().thenRun(untold::decrementAndGet);
      }
    }
    return launch();
  }

  @Test
  void aThreadThatWaitsForAFutureEndsThePause() {
    CompletableFuture<Void> last = launchedInThePause();
    assertThat(last).as("it is told after the pause").isNotDone();
    assertThat(last.join()).isNull();
  }

  @Test
  void workOfTheHostBehindALaunchEndsThePause() {
    CompletableFuture<Void> last = launchedInThePause();
    read();
    await().until(last::isDone);
  }

  /** The launch has no queue yet when the host begins to wait for it. */
  @Test
  void workOfTheHostBehindALaunchThatIsNotSubmittedEndsThePause() throws Exception {
    launchedInThePause();
    Thread host = Thread.ofPlatform().daemon().unstarted(this::read);
    AtomicReference<CompletableFuture<Void>> last = new AtomicReference<>();
    // A virtual thread leaves the submission to the executor.
    Thread.ofVirtual()
        .start(
            () ->
                last.set(
                    launch(
                        task -> {
                          host.start();
                          await().until(() -> host.getState() == Thread.State.WAITING);
                          task.run();
                        })))
        .join();
    await().until(last.get()::isDone);
    host.join();
  }

  private void read() {
    Operation.of(List.of(ResourceAccess.read(bytes)), Runnable::run, () -> {}).perform(true);
  }

  @Test
  void thereIsAPauseAgainWhenTheHostHasGotWhatItWaitedFor() {
    launchedInThePause().join();
    assertThat(launchedInThePause()).as("it is told after the pause").isNotDone();
  }

  @Test
  void anOperationThatEndedWhileItWaitedForAPlaceGetsNone() {
    LaunchQueue queue = queues.next();
    List<DeviceLaunch> all = new ArrayList<>();
    for (int i = 0; i < LaunchQueue.PLACES; i++) {
      all.add(Launches.launch(queues));
      assertThat(queue.tryPlace(all.getLast())).isTrue();
    }
    DeviceLaunch launch = Launches.launch(queues);
    Operation waits =
        Operation.of(
                List.of(ResourceAccess.onDevice(bytes, true)),
                Runnable::run,
                () -> launch.submit((_, _) -> new Ended()))
            .launching(launch);
    waits.submit(_ -> {});
    assertThat(waits.cancel()).isTrue();
    // The maintenance thread hands an operation in again if no thread could be started.
    waits.run();
    assertThat(waits.isDone()).isTrue();
    all.forEach(queue::leavePlace);
    assertThat(queue.isIdle()).as("all places are free").isTrue();
  }
}
