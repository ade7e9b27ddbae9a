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

  private record Busy(long until, int accelerator, long elements, long nanos) {}

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
        new ChunkScheduler(length, List.of(new Range(0, length)), paces, workers);
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
          busy.add(new Busy(now + nanos, i, range.count(), nanos));
        }
      }
      Busy first = busy.remove();
      now = first.until();
      done += first.elements();
      idle[first.accelerator()]++;
      chunks.completed(paces.get(first.accelerator()), first.elements(), first.nanos());
      chunks.ended(paces.get(first.accelerator()));
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
        new ChunkScheduler(10_000, List.of(new Range(0, 10_000)), List.of(rate), 2);

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
    ChunkScheduler chunks = new ChunkScheduler(10_000, open, List.of(rate), 1);

    assertThat(chunks.completed()).isEqualTo(10_000 - 1024 - 1808);
    assertThat(chunks.poll(rate)).isEqualTo(new Range(1024, 1024));
    assertThat(chunks.poll(rate)).isEqualTo(new Range(8192, 1808));
    assertThat(chunks.poll(rate)).isNull();
  }

  @Test
  void whatAFailedAcceleratorStillCarriesIsWaitedFor() throws InterruptedException {
    AcceleratorRate lost = new AcceleratorRate("simulated:0", false, new ChunkPlan(2, 1024));
    AcceleratorRate other = new AcceleratorRate("simulated:1", false, new ChunkPlan(1, 1024));
    ChunkScheduler chunks =
        new ChunkScheduler(2048, List.of(new Range(0, 2048)), List.of(lost, other), 3);
    Range first = chunks.take(lost);
    Range second = chunks.take(lost);
    assertThat(chunks.dropOut(lost, List.of(first), new IllegalStateException())).isTrue();
    chunks.ended(lost);
    assertThat(chunks.take(other)).isEqualTo(first);
    chunks.ended(other);

    AtomicReference<Range> taken = new AtomicReference<>();
    Thread worker = Thread.ofPlatform().start(() -> taken.set(chunks.take(other)));
    while (worker.isAlive() && worker.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    assertThat(chunks.dropOut(lost, List.of(second), new IllegalStateException())).isTrue();
    chunks.ended(lost);
    worker.join();
    assertThat(taken).hasValue(second);
  }

  @Test
  void theLastWorkerThatCanGoOnDoesNotGiveUp() {
    AcceleratorRate lost = new AcceleratorRate("simulated:0", false, new ChunkPlan(2, 1024));
    AcceleratorRate last = new AcceleratorRate("simulated:1", false, new ChunkPlan(2, 1024));
    ChunkScheduler chunks =
        new ChunkScheduler(4096, List.of(new Range(0, 4096)), List.of(lost, last), 4);
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
    ChunkScheduler chunks = new ChunkScheduler(2048, List.of(new Range(0, 2048)), List.of(rate), 2);
    Range first = chunks.take(rate);
    Range second = chunks.take(rate);
    long before = chunks.workersLeft();

    assertThat(chunks.withoutMemory(rate, List.of(first), before)).isEqualTo(WithoutMemory.LEAVE);
    assertThat(chunks.withoutMemory(rate, List.of(second), before)).isEqualTo(WithoutMemory.RETRY);
    assertThat(chunks.withoutMemory(rate, List.of(second), chunks.workersLeft()))
        .isEqualTo(WithoutMemory.FAIL);
  }
}
