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
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Operations on one buffer run in the order of the requests; futures report their outcomes. */
public abstract class OrderConformance extends Topic {
  private static final int LENGTH = 20_000;

  @TestFactory
  Stream<DynamicTest> copiesInTheBackgroundHappenInTheOrderAsked() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, location);
          List<CompletableFuture<Void>> futures = new ArrayList<>();
          List<float[]> read = new ArrayList<>();
          for (int i = 0; i < 40; i++) {
            futures.add(buffer.copyFromAsync(pattern(LENGTH, i)));
            float[] out = new float[LENGTH];
            read.add(out);
            futures.add(buffer.copyToAsync(out));
          }
          futures.forEach(CompletableFuture::join);
          for (int i = 0; i < read.size(); i++) {
            Patterns.assertEqual(read.get(i), pattern(LENGTH, i), "read " + i);
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> kernelsAndCopiesTakeTheirTurns() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<long[]> buffer = buffer(ElementType.LONG, LENGTH, location);
          Kernel triple = bench().kernel("y = y * 3");
          Kernel add = bench().kernel("y = y + a");
          buffer.copyFromAsync(new long[LENGTH]);
          long expected = 0;
          CompletableFuture<Void> last = CompletableFuture.completedFuture(null);
          for (int i = 0; i < 25; i++) {
            add.executeAsync(Arguments.of("a", i, "y", buffer));
            last = triple.executeAsync(Arguments.of("y", buffer));
            expected = (expected + i) * 3;
          }
          long[] out = new long[LENGTH];
          buffer.copyTo(out);
          last.join();
          long[] model = new long[LENGTH];
          java.util.Arrays.fill(model, expected);
          Patterns.assertEqual(out, model, "after 50 kernels");
        });
  }

  @Test
  void whatIsOverwrittenLaterWasReadBefore() {
    UnifiedBuffer<float[]> x = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    List<UnifiedBuffer<float[]>> copies = new ArrayList<>();
    Kernel copy = bench().kernel("y = x");
    for (int i = 0; i < 20; i++) {
      UnifiedBuffer<float[]> y = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
      copies.add(y);
      x.copyFromAsync(pattern(LENGTH, i));
      if (i % 2 == 0) {
        copy.executeAsync(Arguments.of("x", x, "y", y));
      } else {
        y.copyFromAsync(x);
      }
    }
    for (int i = 0; i < copies.size(); i++) {
      Patterns.assertEqual(contents(copies.get(i)), pattern(LENGTH, i), "copy " + i);
    }
  }

  @Test
  void workOnASliceIsWorkOnItsRoot() {
    UnifiedBuffer<float[]> root = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> slice = bench().owned(root.slice(77, 1000));
    Kernel twice = bench().kernel("y = y * 2");
    float[] model = pattern(LENGTH, 1);
    for (int i = 0; i < 6; i++) {
      twice.executeAsync(Arguments.of("y", slice));
      root.copyFromAsync(new float[] {i}, 0, 100 + i, 1);
      for (int j = 77; j < 1077; j++) {
        model[j] *= 2;
      }
      model[100 + i] = i;
    }
    Patterns.assertEqual(contents(root), model, "the root");
  }

  @Test
  void everyFutureCompletesBeforeSynchronizeReturns() {
    List<CompletableFuture<Void>> futures = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
      futures.add(buffer.copyFromAsync(pattern(LENGTH, i)));
    }
    memory().synchronize();
    assertThat(futures).allMatch(CompletableFuture::isDone);
  }

  @Test
  void aFailedWriteFailsTheWorkBehindItWithTheSameCause() throws Exception {
    assumeTrue(bench().can(Capability.JAVA_KERNELS), "no Java kernels: nothing to fail with");
    UnifiedBuffer<float[]> buffer = patterned(100, MemoryLocation.DEVICE, 1);
    CountDownLatch go = new CountDownLatch(1);
    Kernel failing =
        memory()
            .compile(
                KernelSource.java(
                    _ -> {
                      Uninterruptibly.await(go::await);
                      throw new ArithmeticException("the rock in the stream");
                    },
                    KernelParameter.inout("y", ElementType.FLOAT)));
    CompletableFuture<Void> write =
        failing.executeAsync(Arguments.of("y", buffer), LaunchRange.of(1));
    CompletableFuture<Void> read = buffer.copyToAsync(new float[100]);
    CompletableFuture<Void> kernel =
        bench().kernel("y = y + 1").executeAsync(Arguments.of("y", buffer));
    go.countDown();
    Throwable cause = failure(write);
    assertThat(rootOf(cause)).hasMessageContaining("the rock in the stream");
    assertThat(rootOf(failure(read))).hasMessageContaining("the rock in the stream");
    assertThat(rootOf(failure(kernel))).hasMessageContaining("the rock in the stream");
    buffer.copyFrom(pattern(100, 2));
    Patterns.assertEqual(contents(buffer), pattern(100, 2), "a full write heals the buffer");
  }

  @Test
  void cancellingStopsWhatHasNotStarted() throws Exception {
    assumeTrue(bench().can(Capability.JAVA_KERNELS), "no Java kernels: nothing to wait behind");
    UnifiedBuffer<float[]> buffer = patterned(100, MemoryLocation.DEVICE, 1);
    CountDownLatch go = new CountDownLatch(1);
    Kernel waiting =
        memory()
            .compile(
                KernelSource.java(
                    _ -> Uninterruptibly.await(go::await),
                    KernelParameter.inout("y", ElementType.FLOAT)));
    CompletableFuture<Void> first =
        waiting.executeAsync(Arguments.of("y", buffer), LaunchRange.of(1));
    CompletableFuture<Void> second = buffer.copyFromAsync(pattern(100, 2));
    float[] out = new float[100];
    CompletableFuture<Void> third = buffer.copyToAsync(out);
    assertThat(second.cancel(false)).isTrue();
    go.countDown();
    first.get(30, TimeUnit.SECONDS);
    third.get(30, TimeUnit.SECONDS);
    assertThatThrownBy(second::join).isInstanceOf(CancellationException.class);
    Patterns.assertEqual(out, pattern(100, 1), "as if the copy had never been asked for");
  }

  @Test
  void unrelatedBuffersDoNotWaitForEachOther() throws Exception {
    assumeTrue(bench().can(Capability.JAVA_KERNELS), "no Java kernels: nothing to wait for");
    UnifiedBuffer<float[]> held = patterned(100, MemoryLocation.HOST, 1);
    UnifiedBuffer<float[]> free = patterned(100, MemoryLocation.HOST, 2);
    CountDownLatch go = new CountDownLatch(1);
    Kernel waiting =
        memory()
            .compile(
                KernelSource.java(
                    _ -> Uninterruptibly.await(go::await),
                    KernelParameter.inout("y", ElementType.FLOAT)));
    CompletableFuture<Void> pending =
        waiting.executeAsync(Arguments.of("y", held), LaunchRange.of(1));
    float[] out = new float[100];
    free.copyToAsync(out).get(30, TimeUnit.SECONDS);
    assertThat(pending).isNotDone();
    go.countDown();
    pending.get(30, TimeUnit.SECONDS);
    Patterns.assertEqual(out, pattern(100, 2), "read beside the kernel");
  }

  @Test
  void aContinuationMayBlockOnFurtherWork() throws Exception {
    UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    AtomicReference<float[]> seen = new AtomicReference<>();
    List<CompletableFuture<Void>> chains = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      int round = i;
      chains.add(
          buffer
              .copyFromAsync(pattern(LENGTH, 1))
              .thenRun(
                  () -> {
                    float[] out = new float[LENGTH];
                    buffer.copyTo(out);
                    if (round == 11) {
                      seen.set(out);
                    }
                  }));
    }
    for (CompletableFuture<Void> chain : chains) {
      chain.get(60, TimeUnit.SECONDS);
    }
    Patterns.assertEqual(seen.get(), pattern(LENGTH, 1), "read by a continuation");
  }

  @Test
  void anInterruptStaysSetAndSpoilsNothing() {
    UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    Thread.currentThread().interrupt();
    try {
      buffer.copyFrom(pattern(LENGTH, 3));
      bench().kernel("y = y + 1").execute(Arguments.of("y", buffer));
      float[] out = contents(buffer);
      assertThat(Thread.currentThread().isInterrupted()).isTrue();
      float[] model = pattern(LENGTH, 3);
      for (int i = 0; i < LENGTH; i++) {
        model[i] += 1;
      }
      Patterns.assertEqual(out, model, "under an interrupt");
    } finally {
      Thread.interrupted();
    }
  }

  private static @Nullable Throwable failure(CompletableFuture<?> future)
      throws InterruptedException, TimeoutException {
    try {
      future.get(30, TimeUnit.SECONDS);
    } catch (java.util.concurrent.ExecutionException e) {
      return e.getCause();
    } catch (CompletionException e) {
      return e;
    }
    throw new AssertionError("the work was done, but what it waited for had failed");
  }

  private static @Nullable Throwable rootOf(@Nullable Throwable failure) {
    Throwable root = failure;
    while (root != null && root.getCause() != null) {
      root = root.getCause();
    }
    return root;
  }
}
