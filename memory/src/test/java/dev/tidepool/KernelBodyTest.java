package dev.tidepool;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the body of a Java kernel may do with Tidepool. */
@Timeout(100)
final class KernelBodyTest {
  private static final KernelParameter Y = KernelParameter.inout("y", ElementType.INT);

  private final Tidepool tidepool = Tidepool.open();
  private final UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));

  @AfterEach
  @Timeout(100)
  void close() {
    tidepool.close();
  }

  private UnifiedBuffer<int[]> buffer() {
    UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 4);
    buffer.fill((byte) 0);
    return buffer;
  }

  private static void add(WorkItem item, int value) {
    int old = item.array(0).get(JAVA_INT_UNALIGNED, 0);
    item.array(0).set(JAVA_INT_UNALIGNED, 0, old + value);
  }

  private Kernel kernel(JavaKernel body) {
    return memory.compile(KernelSource.java(body, Y));
  }

  private static int first(UnifiedBuffer<int[]> buffer) {
    int[] values = new int[4];
    buffer.copyTo(values);
    return values[0];
  }

  private static final LaunchRange ONE = LaunchRange.of(1);

  @Test
  void itWaitsForKernelsOnOtherBuffersWhateverQueuesTheyGet() {
    Kernel inner = kernel(item -> add(item, 1));
    UnifiedBuffer<int[]> other = buffer();
    Kernel outer =
        kernel(
            item -> {
              // More than there are queues, so that one of them is the queue of this kernel.
              for (int i = 0; i < 16; i++) {
                inner.executeAsync(Arguments.of("y", other), ONE).join();
              }
              add(item, 1);
            });
    UnifiedBuffer<int[]> own = buffer();
    outer.execute(Arguments.of("y", own), ONE);
    outer.executeAsync(Arguments.of("y", own), ONE).join();
    assertThat(first(other)).isEqualTo(32);
    assertThat(first(own)).isEqualTo(2);
  }

  @Test
  void itWaitsForCopiesAndKernelsOfOtherBuffersThatRunOnItsThread() {
    Kernel inner = kernel(item -> add(item, 1));
    UnifiedBuffer<int[]> other = buffer();
    Kernel outer =
        kernel(
            item -> {
              inner.execute(Arguments.of("y", other), ONE);
              add(item, first(other));
            });
    UnifiedBuffer<int[]> own = buffer();
    outer.execute(Arguments.of("y", own), ONE);
    assertThat(first(own)).isEqualTo(1);
  }

  @Test
  void manyWaitAtOnceForWorkThatCameAfterThem() {
    Kernel inner = kernel(item -> add(item, 1));
    List<UnifiedBuffer<int[]>> others = new ArrayList<>();
    List<CompletableFuture<Void>> ends = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      UnifiedBuffer<int[]> other = buffer();
      others.add(other);
      Kernel outer = kernel(_ -> inner.executeAsync(Arguments.of("y", other), ONE).join());
      ends.add(outer.executeAsync(Arguments.of("y", buffer()), ONE));
    }
    ends.forEach(CompletableFuture::join);
    assertThat(others).allSatisfy(other -> assertThat(first(other)).isEqualTo(1));
  }

  @Test
  void manyItemsOnAllProcessorsWaitAtOnce() {
    Kernel inner = kernel(item -> add(item, 1));
    UnifiedBuffer<int[]> other = buffer();
    Kernel outer = kernel(_ -> inner.executeAsync(Arguments.of("y", other), ONE).join());
    List<CompletableFuture<Void>> ends = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      ends.add(outer.executeAsync(Arguments.of("y", buffer()), LaunchRange.of(16)));
    }
    ends.forEach(CompletableFuture::join);
    assertThat(first(other)).isEqualTo(20 * 16);
  }

  @Test
  void itWaitsForOneFutureOfSeveral() {
    Kernel inner = kernel(item -> add(item, 1));
    List<CompletableFuture<Void>> ends = new ArrayList<>();
    List<UnifiedBuffer<int[]>> others = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      UnifiedBuffer<int[]> other = buffer();
      others.add(other);
      Kernel outer =
          kernel(
              _ ->
                  CompletableFuture.allOf(
                          inner.executeAsync(Arguments.of("y", other), ONE),
                          inner.executeAsync(Arguments.of("y", other), ONE))
                      .thenRun(() -> {})
                      .join());
      ends.add(outer.executeAsync(Arguments.of("y", buffer()), ONE));
    }
    ends.forEach(CompletableFuture::join);
    assertThat(others).allSatisfy(other -> assertThat(first(other)).isEqualTo(2));
  }

  private void nest(int depth) {
    UnifiedBuffer<int[]> own = buffer();
    kernel(
            item -> {
              if (depth > 1) {
                nest(depth - 1);
              }
              add(item, 1);
            })
        .executeAsync(Arguments.of("y", own), ONE)
        .join();
    assertThat(first(own)).isEqualTo(1);
  }

  @Test
  void kernelsThatWaitForKernelsNestDeeply() {
    nest(200);
  }

  @Test
  void tooDeepANestIsAnError() {
    assertThatThrownBy(() -> nest(400))
        .isInstanceOf(CompletionException.class)
        .hasRootCauseInstanceOf(IllegalStateException.class)
        .rootCause()
        .hasMessageContaining("wait for other kernels at once")
        .hasMessageContaining("nest them less deeply");
    nest(2);
  }

  private Throwable failureOf(UnifiedBuffer<int[]> own, Runnable inBody) {
    AtomicReference<Throwable> seen = new AtomicReference<>();
    kernel(
            item -> {
              try {
                inBody.run();
              } catch (Throwable e) {
                seen.set(e);
              }
              add(item, 1);
            })
        .executeAsync(Arguments.of("y", own), ONE)
        .join();
    return seen.get();
  }

  private static void assertWaitsForItself(Throwable failure, String... parts) {
    assertThat(failure)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("the Java kernel with the parameters (y) of cpu:0")
        .hasMessageContaining("would wait for itself")
        .hasMessageContainingAll(parts);
  }

  @Test
  void itIsToldThatItWouldWaitForWorkOnItsOwnBuffer() {
    UnifiedBuffer<int[]> own =
        memory.allocate(ElementType.INT, 4, Allocation.at(MemoryLocation.HOST).tag("totals"));
    own.fill((byte) 0);
    assertWaitsForItself(failureOf(own, () -> own.copyTo(new int[4])), "totals");
    assertWaitsForItself(failureOf(own, () -> own.copyFrom(new int[4])), "totals");
    assertWaitsForItself(failureOf(own, own::asSegment), "totals");
    assertWaitsForItself(failureOf(own, () -> own.copyToAsync(new int[4]).join()), "totals");
    assertWaitsForItself(
        failureOf(own, () -> kernel(_ -> {}).execute(Arguments.of("y", own))), "totals");
    // The refused copies took nothing with them, and the kernels went on.
    assertThat(first(own)).isEqualTo(5);
  }

  @Test
  void itIsToldThatItWouldWaitForWorkBehindWorkOnItsOwnBuffer() {
    UnifiedBuffer<int[]> own = buffer();
    UnifiedBuffer<int[]> other = buffer();
    assertWaitsForItself(
        failureOf(
            own,
            () -> {
              var _ = other.copyFromAsync(own);
              other.copyTo(new int[4]);
            }),
        "work on");
    assertThat(first(own)).isEqualTo(1);
    assertThat(first(other)).isEqualTo(1);
  }

  @Test
  void whatItOnlyReadsItMayReadByOtherWaysToo() {
    UnifiedBuffer<int[]> x = memory.copyOf(new int[] {7, 0, 0, 0});
    UnifiedBuffer<int[]> y = buffer();
    memory
        .compile(
            KernelSource.java(
                item -> item.array(1).set(JAVA_INT_UNALIGNED, 0, first(x)),
                KernelParameter.in("x", ElementType.INT),
                Y))
        .executeAsync(Arguments.of("x", x, "y", y), ONE)
        .join();
    assertThat(first(y)).isEqualTo(7);
  }

  @Test
  void itIsToldThatItWouldWaitForItsManager() {
    UnifiedBuffer<int[]> own = buffer();
    assertWaitsForItself(failureOf(own, memory::synchronize), "synchronize()");
    assertWaitsForItself(failureOf(own, memory::close), "close()");
    assertWaitsForItself(failureOf(own, tidepool::close), "close()");
    assertThat(first(own)).isEqualTo(3);
    memory.allocate(ElementType.INT, 1).close();
  }

  @Test
  void itClosesItsOwnBufferWhichIsFreedAfterTheKernel() {
    UnifiedBuffer<int[]> own = buffer();
    assertThat(failureOf(own, own::close)).isNull();
    memory.synchronize();
    assertThat(memory.buffers()).isEmpty();
  }

  @RepeatedTest(20)
  void itsItemsCloseItsOwnBufferOverMemoryThatOutlivesIt() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memoryOfMine = arena.allocate(4 * 4096, 4);
      UnifiedBuffer<int[]> own = memory.wrap(ElementType.INT, memoryOfMine);
      kernel(
              item -> {
                own.close();
                long at = item.globalId(0) * 4;
                item.array(0).set(JAVA_INT_UNALIGNED, at, 5);
              })
          .execute(Arguments.of("y", own), LaunchRange.of(4096));
      memory.synchronize();
      assertThat(memory.buffers()).isEmpty();
      assertThat(memory.statistics().activeBuffers()).isZero();
      assertThat(memoryOfMine.toArray(JAVA_INT)).containsOnly(5);
    }
  }

  @Test
  void aKernelThatItStartedAndDoesNotWaitForMayWaitForIt() {
    UnifiedBuffer<int[]> own = buffer();
    AtomicReference<CompletableFuture<Void>> later = new AtomicReference<>();
    CountDownLatch begun = new CountDownLatch(1);
    Kernel follower =
        kernel(
            item -> {
              begun.countDown();
              add(item, first(own));
            });
    UnifiedBuffer<int[]> other = buffer();
    assertThat(
            failureOf(
                own,
                () -> {
                  later.set(follower.executeAsync(Arguments.of("y", other), ONE));
                  try {
                    begun.await();
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                }))
        .isNull();
    later.get().join();
    assertThat(first(other)).isEqualTo(1);
  }
}
