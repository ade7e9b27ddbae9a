package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Copies in place keep off each other, and off the thread that stops them. */
final class InPlaceAccessTest {
  private final InPlaceAccess access = new UseState(new Object());

  @Test
  void nothingIsAllowedAtFirstAndAfterAStop() {
    assertThat(access.enterInPlace(false)).isFalse();
    access.allow(true, false);
    assertThat(access.enterInPlace(true)).as("a write").isFalse();
    assertThat(access.enterInPlace(false)).isTrue();
    assertThat(access.enterInPlace(false)).as("a second read").isTrue();
    access.leaveInPlace(false);
    access.leaveInPlace(false);
    access.stop();
    assertThat(access.enterInPlace(false)).isFalse();
  }

  @Test
  void aWriteIsAlone() throws Exception {
    access.allow(true, true);
    assertThat(access.enterInPlace(true)).isTrue();
    for (boolean writing : new boolean[] {false, true}) {
      Thread other = waiting(writing);
      access.leaveInPlace(true);
      other.join();
      assertThat(access.enterInPlace(true)).isTrue();
    }
    access.leaveInPlace(true);
    assertThat(access.enterInPlace(false)).isTrue();
    Thread other = waiting(true);
    access.leaveInPlace(false);
    other.join();
  }

  @Test
  void aReadDoesNotOvertakeAWriteThatWaits() throws Exception {
    access.allow(true, true);
    assertThat(access.enterInPlace(false)).isTrue();
    Thread write = waiting(true);
    Thread read = waiting(false);
    access.leaveInPlace(false);
    write.join();
    read.join();
  }

  /** A thread that copies once it may, which is not now. */
  private Thread waiting(boolean writing) throws InterruptedException {
    AtomicBoolean entered = new AtomicBoolean();
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  entered.set(access.enterInPlace(writing));
                  access.leaveInPlace(writing);
                });
    Thread.sleep(20);
    assertThat(entered).isFalse();
    return thread;
  }

  @Test
  void aStopWaitsForTheCopiesThatHaveBegun() throws Exception {
    access.allow(true, true);
    assertThat(access.enterInPlace(true)).isTrue();
    AtomicBoolean stopped = new AtomicBoolean();
    Thread stopping =
        Thread.ofPlatform()
            .start(
                () -> {
                  access.stop();
                  stopped.set(true);
                });
    await().until(() -> !access.isAllowed(true));
    assertThat(access.enterInPlace(false)).isFalse();
    assertThat(stopped).isFalse();
    access.leaveInPlace(true);
    stopping.join();
    assertThat(stopped).isTrue();
  }

  @Test
  void aStopSendsWaitingThreadsAway() throws Exception {
    access.allow(true, true);
    assertThat(access.enterInPlace(true)).isTrue();
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<Boolean>> waiting = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        boolean writing = i > 0;
        waiting.add(threads.submit(() -> access.enterInPlace(writing)));
      }
      Thread.sleep(20);
      Future<?> stop = threads.submit(access::stop);
      for (Future<Boolean> each : waiting) {
        assertThat(each.get()).isFalse();
      }
      assertThat(stop.isDone()).isFalse();
      access.leaveInPlace(true);
      stop.get();
    }
  }

  @Test
  void aWaitingThreadThatIsInterruptedStillEntersAndStaysInterrupted() throws Exception {
    access.allow(true, true);
    assertThat(access.enterInPlace(true)).isTrue();
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<Boolean> waiting =
          threads.submit(
              () -> {
                Thread.currentThread().interrupt();
                return access.enterInPlace(false) && Thread.interrupted();
              });
      Thread.sleep(20);
      assertThat(waiting.isDone()).isFalse();
      access.leaveInPlace(true);
      assertThat(waiting.get()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void manyThreadsThatCompeteAllFinish(boolean virtual) throws Exception {
    access.allow(true, true);
    int[] written = new int[1];
    try (ExecutorService threads =
        virtual ? Executors.newVirtualThreadPerTaskExecutor() : Executors.newFixedThreadPool(64)) {
      List<Future<?>> ends = new ArrayList<>();
      for (int t = 0; t < 64; t++) {
        int thread = t;
        ends.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 2_000; i++) {
                    boolean writing = (thread + i) % 4 > 0;
                    assertThat(access.enterInPlace(writing)).isTrue();
                    if (writing) {
                      written[0]++;
                    }
                    access.leaveInPlace(writing);
                  }
                }));
      }
      for (Future<?> end : ends) {
        end.get(60, TimeUnit.SECONDS);
      }
    }
    assertThat(written[0]).isEqualTo(64 * 1_500);
  }

  @Test
  void readersAndWritersOfManyThreadsNeverMeet() throws Exception {
    AtomicInteger readers = new AtomicInteger();
    AtomicInteger writers = new AtomicInteger();
    AtomicInteger meetings = new AtomicInteger();
    AtomicInteger entered = new AtomicInteger();
    Object monitor = new Object();
    access.allow(true, true);
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> ends = new ArrayList<>();
      for (int t = 0; t < 3; t++) {
        boolean writing = t == 0;
        ends.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 50_000; i++) {
                    if (!access.enterInPlace(writing)) {
                      continue;
                    }
                    entered.incrementAndGet();
                    AtomicInteger own = writing ? writers : readers;
                    own.incrementAndGet();
                    if (writers.get() > 0 && (writers.get() > 1 || readers.get() > 0)) {
                      meetings.incrementAndGet();
                    }
                    own.decrementAndGet();
                    access.leaveInPlace(writing);
                  }
                }));
      }
      ends.add(
          threads.submit(
              () -> {
                for (int i = 0; i < 5_000; i++) {
                  synchronized (monitor) {
                    access.stop();
                    if (writers.get() + readers.get() > 0) {
                      meetings.incrementAndGet();
                    }
                    access.allow(true, true);
                  }
                }
              }));
      for (Future<?> end : ends) {
        end.get();
      }
    }
    assertThat(meetings).hasValue(0);
    assertThat(entered).hasPositiveValue();
  }
}
