package dev.tidepool.runtime.transfers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.runtime.buffer.CoalescedTransfers;
import dev.tidepool.runtime.order.HandoffExecutor;
import dev.tidepool.runtime.order.TransferExecutor;
import dev.tidepool.transfer.TransferPriority;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who gets the next thread. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TransferExecutorTest {
  private final CountDownLatch held = new CountDownLatch(1);
  private final List<String> ran = java.util.Collections.synchronizedList(new ArrayList<>());
  private final List<TransferExecutor> opened = new ArrayList<>();

  private TransferExecutor open(int most) {
    TransferExecutor traffic =
        new TransferExecutor(
            most, Thread.ofPlatform().daemon().factory(), CoalescedTransfers::next);
    opened.add(traffic);
    return traffic;
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
  private void hold(TransferExecutor traffic, int threads, TransferPriority priority) {
    CountDownLatch begun = new CountDownLatch(threads);
    for (int i = 0; i < threads; i++) {
      traffic
          .at(priority)
          .execute(
              () -> {
                begun.countDown();
                await(held);
              });
    }
    await(begun);
  }

  private void ask(TransferExecutor traffic, TransferPriority priority, int count) {
    for (int i = 0; i < count; i++) {
      String name = priority + " " + i;
      traffic.at(priority).execute(() -> ran.add(name));
    }
  }

  private void letAllRun(TransferExecutor traffic) {
    held.countDown();
    CountDownLatch last = new CountDownLatch(1);
    traffic.at(TransferPriority.LOW).execute(last::countDown);
    await(last);
  }

  @Test
  void theMostUrgentGoFirstAndEqualsInTheOrderAsked() {
    TransferExecutor traffic = open(1);
    hold(traffic, 1, TransferPriority.LOW);
    ask(traffic, TransferPriority.LOW, 2);
    ask(traffic, TransferPriority.NORMAL, 2);
    ask(traffic, TransferPriority.HIGH, 2);
    letAllRun(traffic);
    assertThat(ran).containsExactly("HIGH 0", "HIGH 1", "NORMAL 0", "NORMAL 1", "LOW 0", "LOW 1");
  }

  @Test
  void whatWasOvertakenSixteenTimesGoesNext() {
    TransferExecutor traffic = open(1);
    hold(traffic, 1, TransferPriority.LOW);
    ask(traffic, TransferPriority.LOW, 2);
    ask(traffic, TransferPriority.HIGH, 40);
    letAllRun(traffic);
    assertThat(ran.indexOf("LOW 0")).isEqualTo(16);
    assertThat(ran.indexOf("LOW 1")).isEqualTo(33);
  }

  @Test
  void theCriticalBeginWhileBulkHoldsAllThreads() {
    TransferExecutor traffic = open(2);
    hold(traffic, 2, TransferPriority.LOW);
    CountDownLatch done = new CountDownLatch(100);
    for (int i = 0; i < 100; i++) {
      traffic.at(TransferPriority.CRITICAL).execute(done::countDown);
    }
    ask(traffic, TransferPriority.HIGH, 1);
    await(done);
    assertThat(ran).as("less urgent ones wait").isEmpty();
  }

  @Test
  void noMoreRunSideBySideThanAllowed() {
    TransferExecutor traffic = open(3);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    CountDownLatch done = new CountDownLatch(300);
    for (int i = 0; i < 300; i++) {
      traffic.execute(
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
    TransferExecutor traffic = open(2);
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
                      traffic.at(priority).execute(done::countDown);
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
    private final HandoffExecutor porters;
    private final AtomicInteger left;
    private final CountDownLatch done;
    private final Set<Thread> ranOn = ConcurrentHashMap.newKeySet();

    Chain(HandoffExecutor porters, int length) {
      this.porters = porters;
      left = new AtomicInteger(length);
      done = new CountDownLatch(length);
    }

    @Override
    public void run() {
      ranOn.add(Thread.currentThread());
      done.countDown();
      if (left.decrementAndGet() > 0) {
        porters.executeNext(this);
      }
    }
  }

  @Test
  void whatAThreadHandsInLastIsTakenByItWithoutWakingAnother() {
    TransferExecutor traffic = open(4);
    Chain chain = new Chain(traffic, 1000);
    traffic.execute(chain);
    await(chain.done);
    assertThat(chain.ranOn).hasSize(1);
  }

  @Test
  void aConvoyGoesOnWithWhatItsTasksHandIn() {
    TransferExecutor traffic = open(4);
    BoundedExecutor convoy = new BoundedExecutor(traffic, 3, false);
    Chain chain = new Chain(convoy, 1000);
    convoy.execute(chain);
    convoy.depart();
    await(chain.done);
    assertThat(chain.ranOn).hasSize(1);
  }

  @Test
  void severalThatAreHandedInLastFindAllThreads() {
    TransferExecutor traffic = open(3);
    CountDownLatch together = new CountDownLatch(3);
    CountDownLatch done = new CountDownLatch(3);
    Runnable meeting =
        () -> {
          together.countDown();
          await(together);
          done.countDown();
        };
    BoundedExecutor convoy = new BoundedExecutor(traffic, 3, false);
    convoy.execute(
        () -> {
          for (int i = 0; i < 3; i++) {
            convoy.executeNext(meeting);
          }
        });
    convoy.depart();
    await(done);
  }

  @Test
  void whatWaitsForNobodysListenerGoesOnBesideIt() {
    TransferExecutor traffic = open(2);
    BoundedExecutor convoy = new BoundedExecutor(traffic, 2, true);
    CountDownLatch other = new CountDownLatch(1);
    CountDownLatch heard = new CountDownLatch(1);
    convoy.execute(
        () -> {
          convoy.executeNext(other::countDown);
          await(other); // as a listener may
          heard.countDown();
        });
    convoy.depart();
    await(heard);
  }

  @Test
  void aTaskThatThrowsCostsNoThread() {
    CountDownLatch heard = new CountDownLatch(3);
    TransferExecutor traffic =
        new TransferExecutor(
            1,
            Thread.ofPlatform()
                .daemon()
                .uncaughtExceptionHandler((_, _) -> heard.countDown())
                .factory(),
            CoalescedTransfers::next);
    opened.add(traffic);
    for (int i = 0; i < 3; i++) {
      traffic.execute(
          () -> {
            throw new IllegalStateException("for the test");
          });
    }
    ask(traffic, TransferPriority.NORMAL, 1);
    letAllRun(traffic);
    await(heard);
    assertThat(ran).containsExactly("NORMAL 0");
  }

  @Test
  void whatIsHandedInIsDoneBeforeTheEnd() {
    TransferExecutor traffic = open(1);
    hold(traffic, 1, TransferPriority.NORMAL);
    CountDownLatch done = new CountDownLatch(50);
    for (int i = 0; i < 50; i++) {
      traffic.at(TransferPriority.LOW).execute(done::countDown);
    }
    traffic.close();
    held.countDown();
    await(done);
    List<Thread> late = new ArrayList<>();
    traffic.execute(() -> late.add(Thread.currentThread()));
    assertThat(late).containsExactly(Thread.currentThread());
  }

  @Test
  void aConvoyHoldsNoMorePlacesThanItMay() {
    TransferExecutor traffic = open(4);
    BoundedExecutor convoy = new BoundedExecutor(traffic, 2, false);
    AtomicInteger running = new AtomicInteger();
    ConcurrentLinkedQueue<Integer> seen = new ConcurrentLinkedQueue<>();
    CountDownLatch done = new CountDownLatch(200);
    for (int i = 0; i < 200; i++) {
      convoy.execute(
          () -> {
            seen.add(running.incrementAndGet());
            Thread.onSpinWait();
            running.decrementAndGet();
            done.countDown();
          });
    }
    assertThat(seen).as("before it departs").isEmpty();
    convoy.depart();
    await(done);
    assertThat(seen).hasSize(200).allMatch(count -> count <= 2);
  }
}
