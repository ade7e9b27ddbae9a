package dev.tidepool.runtime.transfers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.runtime.buffer.SmallTransferBatch;
import dev.tidepool.runtime.threads.HandoffExecutor;
import dev.tidepool.runtime.threads.Resumable;
import dev.tidepool.runtime.threads.TransferExecutor;
import dev.tidepool.transfer.TransferPriority;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which transfer gets the next thread. */
@Timeout(60)
class TransferExecutorTest {
  private final CountDownLatch held = new CountDownLatch(1);
  private final List<String> ran = java.util.Collections.synchronizedList(new ArrayList<>());
  private final List<TransferExecutor> opened = new ArrayList<>();

  private TransferExecutor open(int most) {
    TransferExecutor transferExecutor =
        new TransferExecutor(
            most, Thread.ofPlatform().daemon().factory(), SmallTransferBatch::next);
    opened.add(transferExecutor);
    return transferExecutor;
  }

  @AfterEach
  void close() {
    held.countDown();
    opened.forEach(TransferExecutor::close);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).as("it came to be").isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Tasks that hold threads, all of which have begun. */
  private void hold(TransferExecutor transferExecutor, int threads, TransferPriority priority) {
    CountDownLatch begun = new CountDownLatch(threads);
    for (int i = 0; i < threads; i++) {
      transferExecutor
          .at(priority)
          .execute(
              () -> {
                begun.countDown();
                await(held);
              });
    }
    await(begun);
  }

  private void ask(TransferExecutor transferExecutor, TransferPriority priority, int count) {
    for (int i = 0; i < count; i++) {
      String name = priority + " " + i;
      transferExecutor.at(priority).execute(() -> ran.add(name));
    }
  }

  private void letAllRun(TransferExecutor transferExecutor) {
    held.countDown();
    CountDownLatch last = new CountDownLatch(1);
    transferExecutor.at(TransferPriority.LOW).execute(last::countDown);
    await(last);
  }

  @Test
  void theMostUrgentGoFirstAndEqualsInTheOrderAsked() {
    TransferExecutor transferExecutor = open(1);
    hold(transferExecutor, 1, TransferPriority.LOW);
    ask(transferExecutor, TransferPriority.LOW, 2);
    ask(transferExecutor, TransferPriority.NORMAL, 2);
    ask(transferExecutor, TransferPriority.HIGH, 2);
    letAllRun(transferExecutor);
    assertThat(ran).containsExactly("HIGH 0", "HIGH 1", "NORMAL 0", "NORMAL 1", "LOW 0", "LOW 1");
  }

  @Test
  void whatWasOvertakenSixteenTimesGoesNext() {
    TransferExecutor transferExecutor = open(1);
    hold(transferExecutor, 1, TransferPriority.LOW);
    ask(transferExecutor, TransferPriority.LOW, 2);
    ask(transferExecutor, TransferPriority.HIGH, 40);
    letAllRun(transferExecutor);
    assertThat(ran.indexOf("LOW 0")).isEqualTo(16);
    assertThat(ran.indexOf("LOW 1")).isEqualTo(33);
  }

  @Test
  void theCriticalBeginWhileBulkHoldsAllThreads() {
    TransferExecutor transferExecutor = open(2);
    hold(transferExecutor, 2, TransferPriority.LOW);
    CountDownLatch done = new CountDownLatch(100);
    for (int i = 0; i < 100; i++) {
      transferExecutor.at(TransferPriority.CRITICAL).execute(done::countDown);
    }
    ask(transferExecutor, TransferPriority.HIGH, 1);
    await(done);
    assertThat(ran).as("less urgent ones wait").isEmpty();
  }

  @Test
  void noMoreRunSideBySideThanAllowed() {
    TransferExecutor transferExecutor = open(3);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    CountDownLatch done = new CountDownLatch(300);
    for (int i = 0; i < 300; i++) {
      transferExecutor.execute(
          () -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            Thread.onSpinWait();
            running.decrementAndGet();
            done.countDown();
          });
    }
    await(done);
    assertThat(most.get()).isBetween(1, 3);
  }

  @Test
  void nothingIsForgottenHoweverManyAsk() throws InterruptedException {
    TransferExecutor transferExecutor = open(2);
    int threads = 4;
    int each = 5000;
    CountDownLatch done = new CountDownLatch(threads * each);
    List<Thread> asking = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      TransferPriority priority = TransferPriority.values()[t];
      asking.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int i = 0; i < each; i++) {
                      transferExecutor.at(priority).execute(done::countDown);
                      if (i % 50 == 0) {
                        // So that threads run out of work and have to be woken again.
                        java.util.concurrent.locks.LockSupport.parkNanos(20_000);
                      }
                    }
                  }));
    }
    for (Thread thread : asking) {
      thread.join();
    }
    await(done);
  }

  /** Hands itself in again as the last thing that it does. */
  private static final class Chain implements Runnable {
    private final HandoffExecutor executor;
    private final AtomicInteger left;
    private final CountDownLatch done;
    private final Set<Thread> ranOn = ConcurrentHashMap.newKeySet();

    Chain(HandoffExecutor executor, int length) {
      this.executor = executor;
      left = new AtomicInteger(length);
      done = new CountDownLatch(length);
    }

    @Override
    public void run() {
      ranOn.add(Thread.currentThread());
      done.countDown();
      if (left.decrementAndGet() > 0) {
        executor.executeNext(this);
      }
    }
  }

  @Test
  void whatAThreadHandsInLastIsTakenByItWithoutWakingAnother() {
    TransferExecutor transferExecutor = open(4);
    Chain chain = new Chain(transferExecutor, 1000);
    transferExecutor.execute(chain);
    await(chain.done);
    assertThat(chain.ranOn).hasSize(1);
  }

  @Test
  void aConvoyGoesOnWithWhatItsTasksHandIn() {
    TransferExecutor transferExecutor = open(4);
    BoundedExecutor bounded = new BoundedExecutor(transferExecutor, 3, false);
    Chain chain = new Chain(bounded, 1000);
    bounded.execute(chain);
    bounded.start();
    await(chain.done);
    assertThat(chain.ranOn).hasSize(1);
  }

  @Test
  void severalThatAreHandedInLastFindAllThreads() {
    TransferExecutor transferExecutor = open(3);
    CountDownLatch together = new CountDownLatch(3);
    CountDownLatch done = new CountDownLatch(3);
    Runnable meeting =
        () -> {
          together.countDown();
          await(together);
          done.countDown();
        };
    BoundedExecutor bounded = new BoundedExecutor(transferExecutor, 3, false);
    bounded.execute(
        () -> {
          for (int i = 0; i < 3; i++) {
            bounded.executeNext(meeting);
          }
        });
    bounded.start();
    await(done);
  }

  @Test
  void whatWaitsForNobodysListenerGoesOnBesideIt() {
    TransferExecutor transferExecutor = open(2);
    BoundedExecutor bounded = new BoundedExecutor(transferExecutor, 2, true);
    CountDownLatch other = new CountDownLatch(1);
    CountDownLatch heard = new CountDownLatch(1);
    bounded.execute(
        () -> {
          bounded.executeNext(other::countDown);
          await(other); // as a listener may
          heard.countDown();
        });
    bounded.start();
    await(heard);
  }

  @Test
  void aTaskThatThrowsCostsNoThread() {
    CountDownLatch heard = new CountDownLatch(3);
    TransferExecutor transferExecutor =
        new TransferExecutor(
            1,
            Thread.ofPlatform()
                .daemon()
                .uncaughtExceptionHandler((_, _) -> heard.countDown())
                .factory(),
            SmallTransferBatch::next);
    opened.add(transferExecutor);
    for (int i = 0; i < 3; i++) {
      transferExecutor.execute(
          () -> {
            throw new IllegalStateException("for the test");
          });
    }
    ask(transferExecutor, TransferPriority.NORMAL, 1);
    letAllRun(transferExecutor);
    await(heard);
    assertThat(ran).containsExactly("NORMAL 0");
  }

  /** The second of two threads, which does not start. */
  private final class FailingThread extends Thread {
    private final Thread first;
    private final Runnable late;

    FailingThread(Thread first, Runnable late) {
      this.first = first;
      this.late = late;
    }

    @Override
    public void start() {
      held.countDown();
      Awaitility.await().until(() -> !ran.isEmpty() && first.getState() == State.TIMED_WAITING);
      // The first thread is idle, and this one is about to look for work.
      opened.getFirst().execute(late);
      throw new OutOfMemoryError("for the test");
    }
  }

  @Test
  void whatIsHandedInBeforeAThreadFailsToStartIsDone() {
    CountDownLatch done = new CountDownLatch(1);
    AtomicReference<Thread> first = new AtomicReference<>();
    TransferExecutor transferExecutor =
        new TransferExecutor(
            2,
            task -> {
              if (first.get() != null) {
                return new FailingThread(first.get(), done::countDown);
              }
              first.set(Thread.ofPlatform().daemon().unstarted(task));
              return first.get();
            },
            SmallTransferBatch::next);
    opened.add(transferExecutor);
    hold(transferExecutor, 1, TransferPriority.NORMAL);
    ask(transferExecutor, TransferPriority.NORMAL, 1);
    Resumable.resumeAll();
    await(done);
  }

  @Test
  void whatIsHandedInIsDoneBeforeTheEnd() {
    TransferExecutor transferExecutor = open(1);
    hold(transferExecutor, 1, TransferPriority.NORMAL);
    CountDownLatch done = new CountDownLatch(50);
    for (int i = 0; i < 50; i++) {
      transferExecutor.at(TransferPriority.LOW).execute(done::countDown);
    }
    transferExecutor.close();
    held.countDown();
    await(done);
    List<Thread> late = new ArrayList<>();
    transferExecutor.execute(() -> late.add(Thread.currentThread()));
    assertThat(late).containsExactly(Thread.currentThread());
  }

  @Test
  void aConvoyHoldsNoMorePlacesThanItMay() {
    TransferExecutor transferExecutor = open(4);
    BoundedExecutor bounded = new BoundedExecutor(transferExecutor, 2, false);
    AtomicInteger running = new AtomicInteger();
    ConcurrentLinkedQueue<Integer> seen = new ConcurrentLinkedQueue<>();
    CountDownLatch done = new CountDownLatch(200);
    for (int i = 0; i < 200; i++) {
      bounded.execute(
          () -> {
            seen.add(running.incrementAndGet());
            Thread.onSpinWait();
            running.decrementAndGet();
            done.countDown();
          });
    }
    assertThat(seen).as("before it starts").isEmpty();
    bounded.start();
    await(done);
    assertThat(seen).hasSize(200).allMatch(count -> count <= 2);
  }
}
