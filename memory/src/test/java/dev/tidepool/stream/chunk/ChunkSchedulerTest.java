package dev.tidepool.stream.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.stream.chunk.ChunkScheduler.Range;
import dev.tidepool.stream.chunk.ChunkScheduler.WithoutMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ChunkSchedulerTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 20_261_121);

  /**
   * An accelerator of a simulated machine.
   *
   * @param rate elements that a worker carries in a nanosecond
   * @param latency nanoseconds that every chunk costs besides
   */
  private record Speed(int workers, long chunk, double rate, long latency, boolean processor) {
    long nanos(Range range) {
      return latency + (long) (range.count() / rate);
    }
  }

  private record Busy(long until, int accelerator, Range range, long nanos) {}

  /** Nanoseconds until all elements are done, in simulated time; every element is done once. */
  private static long simulated(long length, Speed... speeds) {
    List<AcceleratorRate> paces = new ArrayList<>();
    int workers = 0;
    for (int i = 0; i < speeds.length; i++) {
      ChunkPlan plan = new ChunkPlan(speeds[i].workers(), speeds[i].chunk());
      paces.add(new AcceleratorRate("simulated:" + i, speeds[i].processor(), plan));
      workers += speeds[i].workers();
    }
    ChunkScheduler chunks =
        new ChunkScheduler(length, List.of(new Range(0, length)), paces, workers, Long.MAX_VALUE);
    int[] idle = new int[speeds.length];
    for (int i = 0; i < speeds.length; i++) {
      idle[i] = speeds[i].workers();
    }
    PriorityQueue<Busy> busy = new PriorityQueue<>((a, b) -> Long.compare(a.until(), b.until()));
    long now = 0;
    long done = 0;
    do {
      for (int i = 0; i < speeds.length; i++) {
        for (Range range = null; idle[i] > 0; idle[i]--) {
          range = chunks.poll(paces.get(i));
          if (range == null) {
            break;
          }
          long nanos = speeds[i].nanos(range);
          busy.add(new Busy(now + nanos, i, range, nanos));
        }
      }
      Busy first = busy.remove();
      now = first.until();
      done += first.range().count();
      idle[first.accelerator()]++;
      chunks.completed(paces.get(first.accelerator()), first.range().count(), first.nanos());
      chunks.ended(paces.get(first.accelerator()), first.range());
    } while (!busy.isEmpty() || done < length);
    assertThat(done).isEqualTo(length);
    return now;
  }

  @ParameterizedTest
  @ValueSource(doubles = {1, 2, 5, 20, 100, 1000})
  void aSecondAcceleratorNeverMakesItSlower(double ratio) {
    Random random = new Random(SEED);
    for (int i = 0; i < 50; i++) {
      Speed fast =
          new Speed(1 + random.nextInt(4), 1024L << random.nextInt(4, 12), 0.5, 50_000, false);
      Speed slow =
          new Speed(
              1 + random.nextInt(4),
              1024L << random.nextInt(4, 12),
              0.5 / ratio,
              random.nextInt(100_000),
              false);
      long length =
          fast.chunk() * fast.workers() * (16 + random.nextInt(100)) + random.nextInt(999);
      long alone = simulated(length, fast);
      long together =
          random.nextBoolean() ? simulated(length, fast, slow) : simulated(length, slow, fast);

      // Two small chunks show how slow it is; nothing can be known before.
      long trials = 2 * slow.nanos(new Range(0, ChunkPlan.SMALLEST_CHUNK));
      assertThat(together)
          .as("%s and %s, seed %d", fast, slow, SEED)
          .isLessThanOrEqualTo((long) (1.02 * alone) + trials);
    }
  }

  @Test
  void twoEqualAcceleratorsTakeNearlyHalfOfTheTime() {
    Speed one = new Speed(2, 1 << 18, 0.5, 10_000, false);
    long alone = simulated(1L << 28, one);

    assertThat(simulated(1L << 28, one, one)).isLessThan((long) (0.55 * alone));
  }

  @Test
  void ofTwoDriversOfThisProcessorTheFasterOneGoesOnAlone() {
    Speed cpu = new Speed(2, 1 << 18, 0.5, 10_000, true);
    Speed slower = new Speed(3, 1 << 21, 0.1, 50_000, true);
    long length = 1L << 28;

    // Alone, but for what the other one took while both were tried.
    assertThat(simulated(length, slower, cpu))
        .isGreaterThan((long) (0.95 * simulated(length, cpu)));
  }

  @Test
  void oneAcceleratorTakesWholeChunksFromMultiplesOfTheSmallest() {
    ChunkPlan plan = new ChunkPlan(2, 4096);
    AcceleratorRate rate = new AcceleratorRate("simulated:0", false, plan);
    ChunkScheduler chunks =
        new ChunkScheduler(10_000, List.of(new Range(0, 10_000)), List.of(rate), 2, Long.MAX_VALUE);

    assertThat(chunks.poll(rate)).isEqualTo(new Range(0, 4096));
    assertThat(ChunkScheduler.halve(rate, 4096)).isTrue();
    assertThat(chunks.poll(rate)).isEqualTo(new Range(4096, 2048));
    assertThat(ChunkScheduler.halve(rate, 1500)).isTrue();
    assertThat(chunks.poll(rate)).isEqualTo(new Range(6144, 1024));
    assertThat(ChunkScheduler.halve(rate, 1024)).isFalse();
  }

  @Test
  void whatEarlierRunsHaveDoneIsLeftOut() {
    AcceleratorRate rate = new AcceleratorRate("simulated:0", false, new ChunkPlan(1, 4096));
    List<Range> open = List.of(new Range(1024, 1024), new Range(8192, 1808));
    ChunkScheduler chunks = new ChunkScheduler(10_000, open, List.of(rate), 1, Long.MAX_VALUE);

    assertThat(chunks.completed()).isEqualTo(10_000 - 1024 - 1808);
    assertThat(chunks.poll(rate)).isEqualTo(new Range(1024, 1024));
    assertThat(chunks.poll(rate)).isEqualTo(new Range(8192, 1808));
    assertThat(chunks.poll(rate)).isNull();
  }

  /** Starts a thread and returns when it waits. */
  private static Thread waiting(Runnable work) {
    Thread thread = Thread.ofPlatform().start(work);
    while (thread.isAlive() && thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    return thread;
  }

  @Test
  void whatAFailedAcceleratorStillCarriesIsWaitedFor() throws InterruptedException {
    AcceleratorRate lost = new AcceleratorRate("simulated:0", false, new ChunkPlan(2, 1024));
    AcceleratorRate other = new AcceleratorRate("simulated:1", false, new ChunkPlan(1, 1024));
    ChunkScheduler chunks =
        new ChunkScheduler(
            2048, List.of(new Range(0, 2048)), List.of(lost, other), 3, Long.MAX_VALUE);
    Range first = chunks.take(lost);
    Range second = chunks.take(lost);
    assertThat(chunks.dropOut(lost, List.of(first), new IllegalStateException())).isTrue();
    chunks.ended(lost, first);
    assertThat(chunks.take(other)).isEqualTo(first);
    chunks.ended(other, first);

    AtomicReference<Range> taken = new AtomicReference<>();
    Thread worker = waiting(() -> taken.set(chunks.take(other)));
    assertThat(chunks.dropOut(lost, List.of(second), new IllegalStateException())).isTrue();
    chunks.ended(lost, second);
    worker.join();
    assertThat(taken).hasValue(second);
  }

  @Test
  void theLastWorkerThatCanGoOnDoesNotGiveUp() {
    AcceleratorRate lost = new AcceleratorRate("simulated:0", false, new ChunkPlan(2, 1024));
    AcceleratorRate last = new AcceleratorRate("simulated:1", false, new ChunkPlan(2, 1024));
    ChunkScheduler chunks =
        new ChunkScheduler(
            4096, List.of(new Range(0, 4096)), List.of(lost, last), 4, Long.MAX_VALUE);
    Range failed = chunks.take(lost);
    assertThat(chunks.take(lost)).isNotNull();
    Range first = chunks.take(last);
    Range second = chunks.take(last);
    assertThat(chunks.dropOut(lost, List.of(failed), new IllegalStateException())).isTrue();

    long before = chunks.workersLeft();
    assertThat(chunks.withoutMemory(last, List.of(first), before)).isEqualTo(WithoutMemory.LEAVE);
    assertThat(chunks.withoutMemory(last, List.of(second), chunks.workersLeft()))
        .isEqualTo(WithoutMemory.FAIL);
  }

  @Test
  void theLastWorkerTriesAgainWhereOthersHeldMemoryWhileItTried() {
    AcceleratorRate rate = new AcceleratorRate("simulated:0", false, new ChunkPlan(2, 1024));
    ChunkScheduler chunks =
        new ChunkScheduler(2048, List.of(new Range(0, 2048)), List.of(rate), 2, Long.MAX_VALUE);
    Range first = chunks.take(rate);
    Range second = chunks.take(rate);
    long before = chunks.workersLeft();

    assertThat(chunks.withoutMemory(rate, List.of(first), before)).isEqualTo(WithoutMemory.LEAVE);
    assertThat(chunks.withoutMemory(rate, List.of(second), before)).isEqualTo(WithoutMemory.RETRY);
    assertThat(chunks.withoutMemory(rate, List.of(second), chunks.workersLeft()))
        .isEqualTo(WithoutMemory.FAIL);
  }

  private final AcceleratorRate near =
      new AcceleratorRate("simulated:0", false, new ChunkPlan(3, 1024));

  /** Work of which no range is taken that begins 3072 elements behind the oldest. */
  private final ChunkScheduler together =
      new ChunkScheduler(10_240, List.of(new Range(0, 10_240)), List.of(near), 3, 3072);

  @Test
  void aRangeFarAheadIsNotTakenBeforeTheOldestHasEnded() {
    Range oldest = together.take(near);
    Range second = together.take(near);
    together.ended(near, together.take(near));
    assertThat(together.poll(near)).isNull();

    together.ended(near, oldest);
    assertThat(together.poll(near)).isEqualTo(new Range(3072, 1024));
    assertThat(together.poll(near)).isNull();

    together.ended(near, second);
    assertThat(together.poll(near)).isEqualTo(new Range(4096, 1024));
  }

  /** What lets a worker go on that is too far ahead. */
  private enum Release {
    END,
    FAILURE,
    CANCELLATION,
    GIVEN_BACK
  }

  @ParameterizedTest
  @EnumSource
  void aWorkerThatIsTooFarAheadGoesOnWhateverBecomesOfTheOldest(Release release)
      throws InterruptedException {
    Range oldest = together.take(near);
    together.ended(near, together.take(near));
    together.ended(near, together.take(near));
    AtomicReference<Range> taken = new AtomicReference<>();
    Thread worker = waiting(() -> taken.set(together.take(near)));
    switch (release) {
      case END -> {}
      case FAILURE -> together.fail(new IllegalStateException());
      case CANCELLATION -> together.cancel();
      case GIVEN_BACK ->
          assertThat(together.withoutMemory(near, List.of(oldest), together.workersLeft()))
              .isEqualTo(WithoutMemory.LEAVE);
    }
    together.ended(near, oldest);
    worker.join();

    Range next =
        switch (release) {
          case END -> new Range(3072, 1024);
          case GIVEN_BACK -> oldest;
          case FAILURE, CANCELLATION -> null;
        };
    assertThat(taken).hasValue(next);
  }

  @Test
  void whatIsGivenBackIsTakenBeforeAnythingElseAndKeepsOthersNear() {
    Range oldest = together.take(near);
    Range second = together.take(near);
    Range third = together.take(near);
    assertThat(together.withoutMemory(near, List.of(oldest, second), together.workersLeft()))
        .isEqualTo(WithoutMemory.LEAVE);
    assertThat(together.take(near)).isEqualTo(oldest);
    together.ended(near, oldest);
    together.ended(near, third);
    assertThat(together.take(near)).isEqualTo(second);

    assertThat(together.poll(near)).isNull();
    together.ended(near, oldest);
    assertThat(together.poll(near)).isEqualTo(new Range(3072, 1024));
  }
}
