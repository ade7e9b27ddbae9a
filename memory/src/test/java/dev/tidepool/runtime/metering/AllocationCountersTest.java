package dev.tidepool.runtime.metering;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.diagnostics.PeakScope;
import java.lang.ref.WeakReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

class AllocationCountersTest {
  @Test
  void thePeakIsExactHoweverSizesAlternate() {
    AllocationCounters counters = new AllocationCounters();
    SplittableRandom random = new SplittableRandom(7);
    ArrayDeque<Long> live = new ArrayDeque<>();
    long sum = 0;
    long peak = 0;
    for (int i = 0; i < 100_000; i++) {
      if (live.isEmpty() || random.nextInt(100) < 50) {
        long bytes = random.nextLong(1, 1 << random.nextInt(1, 20));
        counters.allocated(bytes);
        live.add(bytes);
        sum += bytes;
        peak = Math.max(peak, sum);
      } else {
        long bytes = live.poll();
        counters.freed(bytes);
        sum -= bytes;
      }
      assertThat(counters.peak(0)).isEqualTo(peak);
    }
    assertThat(counters.live()).isEqualTo(sum);
    assertThat(counters.allocations() - counters.frees()).isEqualTo(live.size());
  }

  @Test
  void thePeakCountsWhatAllThreadsHoldAtOnce() throws Exception {
    AllocationCounters counters = new AllocationCounters();
    int threads = 20;
    CountDownLatch allHold = new CountDownLatch(threads);
    CountDownLatch mayFree = new CountDownLatch(1);
    List<Thread> started = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      Runnable body =
          () -> {
            counters.allocated(1000);
            counters.freed(1000);
            counters.allocated(1000);
            allHold.countDown();
            try {
              mayFree.await();
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            counters.freed(1000);
          };
      started.add(i % 2 == 0 ? Thread.ofPlatform().start(body) : Thread.ofVirtual().start(body));
    }
    allHold.await();
    // One more allocation, so that what was allocated in the same moment is counted.
    counters.allocated(1);
    assertThat(counters.live()).isEqualTo(threads * 1000L + 1);
    assertThat(counters.peak(0)).isEqualTo(threads * 1000L + 1);
    mayFree.countDown();
    for (Thread thread : started) {
      thread.join();
    }
    counters.freed(1);
    assertThat(counters.live()).isZero();
    assertThat(counters.allocations()).isEqualTo(2L * threads + 1);
    assertThat(counters.frees()).isEqualTo(2L * threads + 1);
    assertThat(counters.peak(0)).isEqualTo(threads * 1000L + 1);
  }

  /** As a sum is that saw one thread's free, and not yet another's allocation. */
  @Test
  void whatIsLiveIsNeverBelowNothing() {
    AllocationCounters counters = new AllocationCounters();
    counters.freed(100);
    assertThat(counters.live()).isZero();
    counters.allocated(100);
    assertThat(counters.live()).isZero();
  }

  @Test
  void thePeakNeverFallsBelowWhatWasSeen() {
    AllocationCounters counters = new AllocationCounters();
    assertThat(counters.peak(100)).isEqualTo(100);
    assertThat(counters.peak(50)).isEqualTo(100);
  }

  /** Scopes open and close at random; a model keeps each one's peak by looking at every step. */
  @RepeatedTest(3)
  void thePeakOfEachScopeIsExactHoweverScopesNestAndOverlap(RepetitionInfo repetition) {
    SplittableRandom random = new SplittableRandom(repetition.getCurrentRepetition());
    AllocationCounters counters = new AllocationCounters();
    ArrayDeque<Long> live = new ArrayDeque<>();
    List<PeakScope> scopes = new ArrayList<>();
    List<Long> peaks = new ArrayList<>();
    long sum = 0;
    for (int i = 0; i < 50_000; i++) {
      if (random.nextInt(100) == 0 && scopes.size() < 5) {
        scopes.add(counters.pushPeak("scope " + i));
        peaks.add(sum);
      } else if (random.nextInt(150) == 0 && !scopes.isEmpty()) {
        int which = random.nextInt(scopes.size());
        PeakScope ended = scopes.remove(which);
        ended.close();
        assertThat(ended.peakBytes()).isEqualTo(peaks.remove(which));
      }
      if (live.isEmpty() || random.nextInt(100) < 50) {
        long bytes = random.nextLong(1, 1 << random.nextInt(1, 20));
        counters.allocated(bytes);
        live.add(bytes);
        sum += bytes;
        long now = sum;
        peaks.replaceAll(peak -> Math.max(peak, now));
      } else {
        long bytes = live.poll();
        counters.freed(bytes);
        sum -= bytes;
      }
      if (random.nextInt(10) == 0) {
        assertThat(scopes.stream().map(PeakScope::peakBytes).toList()).isEqualTo(peaks);
      }
    }
  }

  @Test
  void aScopeThatWasClosedKeepsItsPeakAndClosesOnce() {
    AllocationCounters counters = new AllocationCounters();
    counters.allocated(10);
    PeakScope scope = counters.pushPeak("load");
    counters.allocated(5);
    counters.freed(5);
    scope.close();
    counters.allocated(100);
    scope.close();
    assertThat(scope.peakBytes()).isEqualTo(15);
    assertThat(scope).hasToString("peak of 'load': 15 bytes");
    assertThat(counters.peak(0)).isEqualTo(110);
  }

  @Test
  void aScopeCountsWhatOtherThreadsAllocate() throws Exception {
    AllocationCounters counters = new AllocationCounters();
    counters.allocated(1_000_000);
    counters.freed(1_000_000);
    try (PeakScope scope = counters.pushPeak("threads")) {
      CyclicBarrier together = new CyclicBarrier(4);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      counters.allocated(100);
                      try {
                        together.await();
                      } catch (InterruptedException | BrokenBarrierException e) {
                        throw new AssertionError(e);
                      }
                      counters.freed(100);
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      // The last of them to allocate added up, unless two did in the same moment.
      assertThat(scope.peakBytes()).isBetween(300L, 400L);
    }
    assertThat(counters.live()).isZero();
  }

  @Test
  void bytesOfAllAllocationsAreCountedBesideThoseThatLive() {
    AllocationCounters counters = new AllocationCounters();
    counters.allocated(100);
    counters.freed(100);
    counters.allocated(30);
    assertThat(counters.allocatedBytes()).isEqualTo(130);
    assertThat(counters.live()).isEqualTo(30);
  }

  /** Threads come and go, and take over the stripes of those that ended. */
  @RepeatedTest(3)
  void nothingIsLostWhenThreadsShareAndInheritStripes() throws Exception {
    AllocationCounters counters = new AllocationCounters();
    for (int round = 0; round < 20; round++) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        Runnable body =
            () -> {
              for (int k = 0; k < 5_000; k++) {
                counters.allocated(3);
                counters.freed(3);
              }
              counters.allocated(5);
            };
        threads.add(i % 3 == 0 ? Thread.ofVirtual().start(body) : Thread.ofPlatform().start(body));
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
    assertThat(counters.live()).isEqualTo(20 * 12 * 5);
    assertThat(counters.allocations()).isEqualTo(20L * 12 * 5_001);
    assertThat(counters.frees()).isEqualTo(20L * 12 * 5_000);
  }

  @Test
  void aThreadThatHasEndedIsNotHeld() throws Exception {
    AllocationCounters counters = new AllocationCounters();
    List<WeakReference<Thread>> ended = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      Thread thread =
          Thread.ofPlatform()
              .start(
                  () -> {
                    counters.allocated(10);
                    counters.allocated(10);
                  });
      thread.join();
      ended.add(new WeakReference<>(thread));
    }
    await()
        .until(
            () -> {
              System.gc();
              return ended.stream().allMatch(thread -> thread.get() == null);
            });
    assertThat(counters.allocations()).isEqualTo(128);
    assertThat(counters.live()).isEqualTo(1280);
  }
}
