package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.support.Uninterruptibly;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferOutcome;
import dev.tidepool.transfer.TransferOutcome.Status;
import dev.tidepool.transfer.TransferPriority;
import dev.tidepool.transfer.TransferReport;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Lists of transfers are complete, ordered if they share a buffer, and fail pair by pair. */
public abstract class TransferConformance extends Topic {
  private static final int LENGTH = 30_000;
  private static final TransferOptions PLAIN = TransferOptions.defaults();

  private TransferReport transfer(TransferOptions options, Transfer<?>... pairs) {
    return memory().transfers().transfer(Arrays.asList(pairs), options);
  }

  @TestFactory
  Stream<DynamicTest> pairsOfEveryKindArrive() {
    return inEveryLocation(location -> everyKind(location, PLAIN));
  }

  @TestFactory
  Stream<DynamicTest> pairsArriveWhateverTheOptions() {
    return inEveryLocation(
        location -> {
          for (TransferPriority priority : TransferPriority.values()) {
            everyKind(location, TransferOptions.builder().priority(priority).build());
          }
          everyKind(location, TransferOptions.builder().pinned(false).build());
          everyKind(location, TransferOptions.builder().pipelining(false).build());
          everyKind(location, TransferOptions.builder().chunkSize(4096).build());
          everyKind(location, TransferOptions.builder().maxConcurrency(1).build());
          everyKind(location, TransferOptions.builder().verified(true).build());
        });
  }

  private void everyKind(MemoryLocation location, TransferOptions options) {
    try (Arena arena = Arena.ofShared();
        UnifiedBuffer<float[]> x = memory().allocate(ElementType.FLOAT, LENGTH, location);
        UnifiedBuffer<float[]> y = memory().allocate(ElementType.FLOAT, LENGTH, location);
        UnifiedBuffer<float[]> z = memory().allocate(ElementType.FLOAT, LENGTH)) {
      float[] read = new float[LENGTH + 1];
      MemorySegment in = arena.allocate(4L * LENGTH, 4);
      MemorySegment out = arena.allocate(4L * LENGTH + 8, 4);
      ElementType.FLOAT.write(pattern(LENGTH, 2), 0, in, 0, LENGTH);
      List<Transfer<?>> pairs =
          List.of(
              Transfer.of(pattern(LENGTH, 1), x),
              Transfer.of(in, y),
              Transfer.of(x, z),
              Transfer.of(y.slice(0, 100), z.slice(LENGTH - 100, 100)),
              Transfer.of(z, read),
              Transfer.of(y, out));
      TransferReport report = memory().transfers().transfer(pairs, options).orThrow();
      float[] expected =
          Patterns.overlaid(
              ElementType.FLOAT, pattern(LENGTH, 1), LENGTH - 100, first(pattern(LENGTH, 2), 100));
      Patterns.assertEqual(first(read, LENGTH), expected, "the array");
      Patterns.assertEqual(
          contents(ElementType.FLOAT, out.asSlice(0, 4L * LENGTH)), pattern(LENGTH, 2), "segment");
      Patterns.assertEqual(contents(z), expected, "the buffer");
      assertThat(report.outcomes())
          .extracting(TransferOutcome::bytes)
          .containsExactly(120_000L, 120_000L, 120_000L, 400L, 120_000L, 120_000L);
      assertThat(report.outcomes()).allMatch(outcome -> outcome.attempts() == 1);
      assertThat(report.totalBytes()).isEqualTo(600_400);
      assertThat(report.averageBandwidth()).isPositive();
      assertThat(report.failures()).isZero();
    }
  }

  private static float[] first(float[] array, int count) {
    return Arrays.copyOf(array, count);
  }

  @TestFactory
  Stream<DynamicTest> aThousandSmallTransfersArriveAtTheirPlaces() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> one = patterned(200_000, location, 1);
          UnifiedBuffer<float[]> two = patterned(200_000, location, 2);
          float[] modelOfOne = pattern(200_000, 1);
          float[] modelOfTwo = pattern(200_000, 2);
          SplittableRandom random = new SplittableRandom(3);
          List<Transfer<?>> pairs = new ArrayList<>();
          for (int i = 0; i < 1000; i++) {
            // Some ranges overlap: the later one counts.
            int count = 1 + random.nextInt(1000);
            int at = random.nextInt(200_000 - count);
            boolean first = random.nextBoolean();
            float[] fresh = pattern(count, i);
            pairs.add(Transfer.of(fresh, (first ? one : two).slice(at, count)));
            System.arraycopy(fresh, 0, first ? modelOfOne : modelOfTwo, at, count);
          }
          memory().transfers().transfer(pairs, PLAIN).orThrow();
          Patterns.assertEqual(contents(one), modelOfOne, "the first buffer");
          Patterns.assertEqual(contents(two), modelOfTwo, "the second buffer");
        });
  }

  @TestFactory
  Stream<DynamicTest> smallCopiesInTheBackgroundKeepTheOrderOfTheirBuffer() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          float[] model = pattern(LENGTH, 1);
          List<CompletableFuture<Void>> futures = new ArrayList<>();
          List<float[]> seen = new ArrayList<>();
          List<float[]> expected = new ArrayList<>();
          for (int i = 0; i < 300; i++) {
            int at = (i * 37) % (LENGTH - 50);
            float[] fresh = pattern(50, i);
            System.arraycopy(fresh, 0, model, at, 50);
            futures.add(buffer.copyFromAsync(fresh, 0, at, 50));
            if (i % 29 == 0) {
              float[] read = new float[LENGTH];
              seen.add(read);
              expected.add(model.clone());
              futures.add(buffer.copyToAsync(read));
            }
          }
          futures.forEach(CompletableFuture::join);
          for (int i = 0; i < seen.size(); i++) {
            Patterns.assertEqual(seen.get(i), expected.get(i), "read " + i);
          }
          Patterns.assertEqual(contents(buffer), model, "the buffer");
        });
  }

  @TestFactory
  Stream<DynamicTest> aThousandSmallTransfersComeBackFromTheirPlaces() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> one = patterned(200_000, location, 1);
          UnifiedBuffer<float[]> two = patterned(200_000, location, 2);
          float[] modelOfOne = pattern(200_000, 1);
          float[] modelOfTwo = pattern(200_000, 2);
          SplittableRandom random = new SplittableRandom(4);
          List<Transfer<?>> pairs = new ArrayList<>();
          List<float[]> seen = new ArrayList<>();
          List<float[]> expected = new ArrayList<>();
          for (int i = 0; i < 1000; i++) {
            int count = 1 + random.nextInt(1000);
            int at = random.nextInt(200_000 - count);
            boolean first = random.nextBoolean();
            seen.add(new float[count]);
            expected.add(Arrays.copyOfRange(first ? modelOfOne : modelOfTwo, at, at + count));
            pairs.add(Transfer.of((first ? one : two).slice(at, count), seen.getLast()));
          }
          memory().transfers().transfer(pairs, PLAIN).orThrow();
          for (int i = 0; i < seen.size(); i++) {
            Patterns.assertEqual(seen.get(i), expected.get(i), "transfer " + i);
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> smallReadsInTheBackgroundSeeWhatWasWrittenBeforeThemAndNothingLater() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          float[] model = pattern(LENGTH, 1);
          List<CompletableFuture<Void>> futures = new ArrayList<>();
          List<float[]> seen = new ArrayList<>();
          List<float[]> expected = new ArrayList<>();
          for (int i = 0; i < 300; i++) {
            int at = (i * 37) % (LENGTH - 50);
            for (int read = 0; read < 3; read++) {
              int from = (at + read * 20) % (LENGTH - 50);
              float[] target = new float[50];
              seen.add(target);
              expected.add(Arrays.copyOfRange(model, from, from + 50));
              futures.add(buffer.copyToAsync(from, target, 0, 50));
            }
            float[] fresh = pattern(50, i);
            System.arraycopy(fresh, 0, model, at, 50);
            futures.add(buffer.copyFromAsync(fresh, 0, at, 50));
          }
          futures.forEach(CompletableFuture::join);
          for (int i = 0; i < seen.size(); i++) {
            Patterns.assertEqual(seen.get(i), expected.get(i), "read " + i);
          }
          Patterns.assertEqual(contents(buffer), model, "the buffer");
        });
  }

  @Test
  @SuppressWarnings("NullAway") // a missing argument is one of the mistakes
  void badPairsFailAloneAndAreNamed() {
    UnifiedBuffer<float[]> good = buffer(ElementType.FLOAT, 100, MemoryLocation.DEVICE);
    UnifiedBuffer<float[]> closed = memory().allocate(ElementType.FLOAT, 100);
    closed.close();
    UnifiedBuffer<int[]> ints = buffer(ElementType.INT, 100, MemoryLocation.DEVICE);
    UnifiedBuffer<int[]> unsigned = buffer(ElementType.UNSIGNED_INT, 100, MemoryLocation.DEVICE);
    try (Arena own = Arena.ofConfined();
        Arena shared = Arena.ofShared()) {
      TransferReport report =
          transfer(
              PLAIN,
              Transfer.of(pattern(50, 1), good),
              null,
              Transfer.of(pattern(101, 1), good),
              Transfer.of(good, new float[99]),
              Transfer.of(good, closed),
              Transfer.of(good.slice(0, 60), good.slice(40, 60)),
              Transfer.of(ints, unsigned),
              Transfer.of(own.allocate(400), good),
              Transfer.of(good, shared.allocate(400).asReadOnly()),
              Transfer.of(shared.allocate(3), good),
              Transfer.of(pattern(50, 2), good.slice(50, 50)));
      assertThat(report.outcomes().getFirst().isDone()).isTrue();
      assertThat(report.outcomes().getLast().isDone()).isTrue();
      assertThat(report.failures()).isEqualTo(9);
      assertThat(report.totalBytes()).isEqualTo(400);
      List<String> reasons =
          List.of(
              "there is none",
              "has room for 400 bytes, but the source has 404",
              "the array has room for 396 bytes, but the source has 400",
              "is closed",
              "overlap",
              "use as() first",
              "belongs to one thread",
              "read-only",
              "3");
      for (int i = 1; i <= 9; i++) {
        TransferOutcome outcome = report.outcomes().get(i);
        assertThat(outcome.status()).isEqualTo(Status.FAILED);
        assertThat(outcome.attempts()).isZero();
        assertThat(outcome.cause().orElseThrow())
            .isInstanceOf(TransferException.class)
            .hasMessageStartingWith("transfer " + (i + 1) + " of 11: ")
            .hasMessageContaining(reasons.get(i - 1));
      }
      assertThatThrownBy(report::orThrow)
          .isInstanceOf(TransferException.class)
          .hasMessageStartingWith("9 of 11 transfers did not arrive; the first: transfer 2 of 11:")
          .satisfies(thrown -> assertThat(thrown.getSuppressed()).hasSize(8));
    }
    float[] expected =
        Patterns.overlaid(ElementType.FLOAT, first(pattern(50, 1), 100), 50, pattern(50, 2));
    Patterns.assertEqual(contents(good), expected, "what good pairs wrote");
  }

  @Test
  void aListOfNothingIsDone() {
    TransferReport report = transfer(PLAIN).orThrow();
    assertThat(report.outcomes()).isEmpty();
    assertThat(report.averageBandwidth()).isZero();
    UnifiedBuffer<float[]> empty = buffer(ElementType.FLOAT, 0, MemoryLocation.DEVICE);
    assertThat(transfer(PLAIN, Transfer.of(new float[0], empty)).orThrow().totalBytes()).isZero();
  }

  @Test
  void theListenerHearsOfAllBytesAndNeverOfFewer() {
    List<Long> heard = new ArrayList<>();
    List<Long> totals = new ArrayList<>();
    TransferOptions options =
        TransferOptions.builder()
            .chunkSize(4096)
            .progress(
                (bytes, total) -> {
                  heard.add(bytes);
                  totals.add(total);
                })
            .build();
    List<Transfer<?>> pairs = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      pairs.add(
          Transfer.of(
              pattern(LENGTH, i), buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE)));
    }
    memory().transfers().transfer(pairs, options).orThrow();
    assertThat(heard).isSorted().doesNotHaveDuplicates();
    assertThat(heard.getLast()).isEqualTo(20L * 4 * LENGTH);
    assertThat(totals).containsOnly(20L * 4 * LENGTH);
  }

  @Test
  void aListenerThatThrowsHarmsNothing() {
    UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    TransferOptions options =
        TransferOptions.builder()
            .progress(
                (_, _) -> {
                  throw new IllegalStateException("a bad listener, for the test");
                })
            .build();
    transfer(options, Transfer.of(pattern(LENGTH, 1), buffer)).orThrow();
    Patterns.assertEqual(contents(buffer), pattern(LENGTH, 1), "what was transferred");
  }

  @Test
  void cancellingStopsWhatHasNotStartedAndReportsWhenTheRestIsDone() throws Exception {
    try (Held held = new Held()) {
      UnifiedBuffer<float[]> free = buffer(ElementType.FLOAT, 100, MemoryLocation.DEVICE);
      CompletableFuture<TransferReport> future =
          memory()
              .transfers()
              .transferAsync(
                  List.of(
                      Transfer.of(pattern(100, 2), held.buffer),
                      Transfer.of(pattern(100, 3), free)),
                  PLAIN);
      assertThat(future.cancel(true)).isFalse();
      TransferReport report = future.get(30, TimeUnit.SECONDS);
      assertThat(report.outcomes().getFirst().status()).isEqualTo(Status.CANCELLED);
      assertThat(report.outcomes().get(1).status()).isIn(Status.DONE, Status.CANCELLED);
      assertThatThrownBy(report::orThrow).hasMessageContaining("stopped before they started");
      held.letGo();
      Patterns.assertEqual(contents(held.buffer), pattern(100, 1), "as if never asked for");
    }
  }

  @Test
  void whatHasNotStartedAtTheDeadlineIsLate() throws Exception {
    try (Held held = new Held()) {
      TransferOptions options = TransferOptions.builder().deadline(Duration.ofMillis(1)).build();
      TransferReport report =
          memory()
              .transfers()
              .transferAsync(List.of(Transfer.of(pattern(100, 2), held.buffer)), options)
              .get(30, TimeUnit.SECONDS);
      assertThat(report.outcomes().getFirst())
          .returns(Status.LATE, TransferOutcome::status)
          .returns(Duration.ZERO, TransferOutcome::duration);
      CompletableFuture<Void> copy =
          memory()
              .transfers()
              .copyAsync(
                  patterned(100, MemoryLocation.DEVICE, 5), held.buffer.slice(0, 100), options);
      assertThatThrownBy(() -> copy.get(30, TimeUnit.SECONDS))
          .hasCauseInstanceOf(TransferException.class)
          .hasMessageContaining("deadline");
      held.letGo();
      Patterns.assertEqual(contents(held.buffer), pattern(100, 1), "as if never asked for");
    }
  }

  @Test
  void nothingStartsWhereTheDeadlineHasPassedWhenTheListIsReady() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    List<Transfer<?>> pairs = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      pairs.add(Transfer.of(pattern(100, i), buffer.slice(100L * i, 100)));
    }
    TransferOptions options = TransferOptions.builder().deadline(Duration.ofNanos(1)).build();
    TransferReport report = memory().transfers().transfer(pairs, options);
    assertThat(report.outcomes()).extracting(TransferOutcome::status).containsOnly(Status.LATE);
    Patterns.assertEqual(contents(buffer), pattern(LENGTH, 1), "as if never asked for");
  }

  /** A buffer that a running kernel uses. */
  private final class Held implements AutoCloseable {
    final UnifiedBuffer<float[]> buffer;
    private final CountDownLatch go = new CountDownLatch(1);
    private final CompletableFuture<Void> holding;

    Held() {
      assumeTrue(bench().can(Capability.JAVA_KERNELS), "no Java kernels: nothing to wait behind");
      buffer = patterned(100, MemoryLocation.DEVICE, 1);
      Kernel waiting =
          memory()
              .compile(
                  KernelSource.java(
                      _ -> Uninterruptibly.await(go::await),
                      KernelParameter.inout("y", ElementType.FLOAT)));
      holding = waiting.executeAsync(Arguments.of("y", buffer), LaunchRange.of(1));
    }

    void letGo() {
      go.countDown();
      holding.join();
    }

    @Override
    public void close() {
      letGo();
    }
  }

  @Test
  void aCopyWithOptionsArrivesOrFailsItsFuture() {
    UnifiedBuffer<float[]> source = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> target = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.HOST);
    TransferOptions options =
        TransferOptions.builder().priority(TransferPriority.CRITICAL).verified(true).build();
    memory().transfers().copyAsync(source, target, options).join();
    Patterns.assertEqual(contents(target), pattern(LENGTH, 1), "the copy");
    CompletableFuture<Void> tooLong =
        memory().transfers().copyAsync(source, target.slice(0, 10), options);
    assertThatThrownBy(tooLong::join).hasCauseInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void optionsOutOfTheirRangeAreRefusedAtOnce() {
    assertThatThrownBy(() -> TransferOptions.builder().maxConcurrency(-1).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("maxConcurrency is -1");
    assertThatThrownBy(() -> TransferOptions.builder().chunkSize(4095).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("chunkSize is 4095");
    assertThatThrownBy(() -> TransferOptions.builder().deadline(Duration.ZERO).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("deadline is PT0S");
    assertThatThrownBy(() -> TransferOptions.builder().retries(-2).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("retries is -2");
  }
}
