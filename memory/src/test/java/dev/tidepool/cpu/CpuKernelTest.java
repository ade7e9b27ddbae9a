package dev.tidepool.cpu;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.as;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.ElementType;
import dev.tidepool.JavaKernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.TidepoolException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.support.Uninterruptibly;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CpuKernelTest {
  private static final KernelParameter X = KernelParameter.in("x", ElementType.FLOAT);
  private static final KernelParameter Y = KernelParameter.inout("y", ElementType.FLOAT);
  private static final KernelParameter A = KernelParameter.scalar("a", ElementType.DOUBLE);
  private static final KernelParameter OUT = KernelParameter.inout("out", ElementType.LONG);

  private final CpuDevice device = new CpuDevice();
  private final Queue queue = device.createQueue();
  private final List<Block> blocks = new ArrayList<>();

  @AfterEach
  void freeAll() {
    queue.close();
    blocks.forEach(Block::free);
  }

  private Block block(long bytes) {
    Block block = device.allocate(Math.max(1, bytes), 64, BlockKind.DEVICE);
    block.segment().fill((byte) 0);
    blocks.add(block);
    return block;
  }

  private static KernelArgument array(Block block, long offset, long bytes) {
    return new KernelArgument.Array(block, offset, bytes);
  }

  private void run(Program program, List<KernelArgument> arguments, LaunchRange range) {
    try (Event event = queue.launch(new Launch(program, arguments, range))) {
      assertThat(event.isDone()).isTrue();
      event.await();
    }
  }

  /** From one element to many pieces for each thread, and not a multiple of anything. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 1000, 65_536, 65_537, 1_000_003})
  void everyElementIsComputedOnceHoweverManyThreadsShareThem(int n) {
    Block x = block(4L * n);
    Block y = block(4L * n);
    for (int i = 0; i < n; i++) {
      x.segment().setAtIndex(JAVA_FLOAT, i, i);
      y.segment().setAtIndex(JAVA_FLOAT, i, 3);
    }
    Program program = device.compile(KernelSource.elementwise("y = a * x + y"), List.of(A, X, Y));
    run(
        program,
        List.of(new KernelArgument.Scalar(2.0), array(x, 0, 4L * n), array(y, 0, 4L * n)),
        LaunchRange.of(n));
    for (int i = 0; i < n; i++) {
      if (y.segment().getAtIndex(JAVA_FLOAT, i) != 2f * i + 3) {
        throw new AssertionError("element " + i + " of " + n);
      }
    }
  }

  @Test
  void anArgumentMayStartAtAnyByteAndNothingBesideItIsWritten() {
    int n = 200_000;
    Block x = block(4L * n + 64);
    Block y = block(4L * n + 64);
    x.segment().fill((byte) 1);
    MemorySegment values = x.segment().asSlice(3, 4L * n);
    for (int i = 0; i < n; i++) {
      values.set(JAVA_FLOAT_UNALIGNED, 4L * i, i);
    }
    Program program = device.compile(KernelSource.elementwise("y = x + 1"), List.of(X, Y));
    run(program, List.of(array(x, 3, 4L * n), array(y, 13, 4L * n)), LaunchRange.of(n));
    for (int i = 0; i < n; i++) {
      if (y.segment().get(JAVA_FLOAT_UNALIGNED, 13 + 4L * i) != i + 1f) {
        throw new AssertionError("element " + i);
      }
    }
    assertThat(y.segment().asSlice(0, 13).mismatch(MemorySegment.ofArray(new byte[13])))
        .isEqualTo(-1);
    assertThat(y.segment().asSlice(13 + 4L * n).mismatch(MemorySegment.ofArray(new byte[51])))
        .isEqualTo(-1);
  }

  @Test
  void aSourceThatDoesNotParseIsRefusedWhenItIsCompiled() {
    assertThatThrownBy(() -> device.compile(KernelSource.elementwise("y = x +"), List.of(X, Y)))
        .isInstanceOf(KernelCompilationException.class);
  }

  @Test
  void severalLaunchesAtOnceShareTheThreadsAndAllAreExact() throws Exception {
    int n = 300_000;
    Program program = device.compile(KernelSource.elementwise("y = x + y"), List.of(X, Y));
    List<Thread> threads = new ArrayList<>();
    AtomicInteger right = new AtomicInteger();
    for (int t = 0; t < 6; t++) {
      Block x = block(4L * n);
      Block y = block(4L * n);
      float value = t + 1;
      for (int i = 0; i < n; i++) {
        x.segment().setAtIndex(JAVA_FLOAT, i, value);
      }
      Runnable body =
          () -> {
            try (Queue own = device.createQueue()) {
              for (int round = 0; round < 20; round++) {
                own.launch(
                        new Launch(
                            program,
                            List.of(array(x, 0, 4L * n), array(y, 0, 4L * n)),
                            LaunchRange.of(n)))
                    .await();
              }
            }
            for (int i = 0; i < n; i++) {
              if (y.segment().getAtIndex(JAVA_FLOAT, i) != 20 * value) {
                return;
              }
            }
            right.incrementAndGet();
          };
      threads.add(t % 2 == 0 ? Thread.ofPlatform().start(body) : Thread.ofVirtual().start(body));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(right).hasValue(6);
  }

  @Test
  void aJavaKernelRunsOnceForEachItemOfThreeDimensions() {
    JavaKernel body =
        item -> {
          long index =
              (item.globalId(2) * item.globalSize(1) + item.globalId(1)) * item.globalSize(0)
                  + item.globalId(0);
          boolean consistent = true;
          for (int d = 0; d < 3; d++) {
            consistent &= item.globalId(d) == item.groupId(d) * item.groupSize(d) + item.localId(d);
          }
          MemorySegment out = item.array(0);
          out.setAtIndex(
              JAVA_LONG, index, out.getAtIndex(JAVA_LONG, index) + (consistent ? 1 + index : -1));
        };
    Program program = device.compile(KernelSource.java(body, OUT), List.of(OUT));
    long items = 40 * 30 * 20;
    for (LaunchRange range :
        List.of(LaunchRange.of(40, 30, 20), LaunchRange.of(40, 30, 20).inGroupsOf(8, 5, 2))) {
      Block out = block(8 * items);
      run(program, List.of(array(out, 0, 8 * items)), range);
      for (long i = 0; i < items; i++) {
        assertThat(out.segment().getAtIndex(JAVA_LONG, i)).isEqualTo(1 + i);
      }
    }
  }

  @Test
  void theItemsOfAGroupShareLocalMemoryAndRunInOrder() {
    JavaKernel body =
        item -> {
          MemorySegment local = item.localMemory();
          if (item.localId(0) == 0) {
            local.fill((byte) 0);
          }
          local.set(JAVA_INT, 0, local.get(JAVA_INT, 0) + (int) item.localId(0));
          if (item.localId(0) == item.groupSize(0) - 1) {
            item.array(0).setAtIndex(JAVA_LONG, item.groupId(0), local.get(JAVA_INT, 0));
          }
        };
    Program program = device.compile(KernelSource.java(body, OUT), List.of(OUT));
    Block out = block(8 * 1000);
    run(
        program,
        List.of(array(out, 0, 8 * 1000)),
        LaunchRange.of(16_000).inGroupsOf(16).withLocalMemory(64));
    for (int group = 0; group < 1000; group++) {
      assertThat(out.segment().getAtIndex(JAVA_LONG, group)).isEqualTo(120);
    }
  }

  @Test
  void scalarsReachAJavaKernelAsWhatItAsksFor() {
    KernelParameter whole = KernelParameter.scalar("n", ElementType.LONG);
    KernelParameter truth = KernelParameter.scalar("t", ElementType.BOOLEAN);
    JavaKernel body =
        item ->
            item.array(3)
                .setAtIndex(
                    JAVA_LONG,
                    0,
                    (long) (item.scalar(0) * 10) + item.integer(1) * 100 + item.integer(2) * 1000);
    Program program =
        device.compile(
            KernelSource.java(body, A, whole, truth, OUT), List.of(A, whole, truth, OUT));
    Block out = block(8);
    run(
        program,
        List.of(
            new KernelArgument.Scalar(2.5f),
            new KernelArgument.Scalar(3),
            new KernelArgument.Scalar(true),
            array(out, 0, 8)),
        LaunchRange.of(1));
    assertThat(out.segment().get(JAVA_LONG, 0)).isEqualTo(25 + 300 + 1000);
  }

  @Test
  void aJavaKernelThatTakesAnArrayForAScalarIsToldWhatTheParameterIs() {
    for (JavaKernel body :
        List.<JavaKernel>of(
            item -> item.scalar(1), item -> item.integer(1), item -> item.array(0))) {
      Program program = device.compile(KernelSource.java(body, A, OUT), List.of(A, OUT));
      Block out = block(8);
      assertThatThrownBy(
              () ->
                  run(
                      program,
                      List.of(new KernelArgument.Scalar(2.5), array(out, 0, 8)),
                      LaunchRange.of(1)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageMatching("parameter 1 is an array.*|parameter 0 is a scalar.*");
    }
  }

  @Test
  void whatAKernelThrowsFailsItsLaunchAndNothingElse() {
    RuntimeException own = new RuntimeException("item 77");
    Program failing =
        device.compile(
            KernelSource.java(
                item -> {
                  if (item.globalId(0) == 77) {
                    throw own;
                  }
                }),
            List.of());
    assertThatThrownBy(() -> run(failing, List.of(), LaunchRange.of(100_000))).isSameAs(own);
    Program broken =
        device.compile(
            KernelSource.java(
                item -> {
                  throw new AssertionError("broken");
                }),
            List.of());
    assertThatThrownBy(() -> run(broken, List.of(), LaunchRange.of(10)))
        .isInstanceOf(TidepoolException.class)
        .hasMessageContaining("broken")
        .hasCauseInstanceOf(AssertionError.class);
    AtomicInteger count = new AtomicInteger();
    Program fine = device.compile(KernelSource.java(item -> count.incrementAndGet()), List.of());
    run(fine, List.of(), LaunchRange.of(50_000));
    assertThat(count).hasValue(50_000);
  }

  @Test
  void theLaunchIsShownBesideAnItemThatFailsOnAnotherThread() {
    assumeTrue(CpuThreads.THREADS > 1, "one processor");
    Thread caller = Thread.currentThread();
    CountDownLatch failed = new CountDownLatch(1);
    Program program =
        device.compile(
            KernelSource.java(
                item -> {
                  if (!Thread.currentThread().equals(caller)) {
                    failed.countDown();
                    throw new IllegalStateException("on purpose");
                  }
                  Uninterruptibly.await(failed::await);
                }),
            List.of());
    assertThatThrownBy(() -> run(program, List.of(), LaunchRange.of(2)))
        .hasMessage("on purpose")
        .satisfies(
            thrown ->
                assertThat(thrown.getSuppressed())
                    .singleElement()
                    .extracting(Throwable::getStackTrace, as(InstanceOfAssertFactories.ARRAY))
                    .anyMatch(frame -> frame.toString().contains("CpuKernelTest.run")));
  }

  @Test
  void aFewLongItemsAreSharedOut() throws Exception {
    assumeTrue(CpuThreads.THREADS > 1, "one processor");
    // Both items must be under way at once, or the first waits in vain.
    CountDownLatch both = new CountDownLatch(2);
    Set<Thread> threads = ConcurrentHashMap.newKeySet();
    Program program =
        device.compile(
            KernelSource.java(
                item -> {
                  threads.add(Thread.currentThread());
                  both.countDown();
                  try {
                    if (!both.await(60, TimeUnit.SECONDS)) {
                      throw new AssertionError("the items ran one after the other");
                    }
                  } catch (InterruptedException e) {
                    throw new AssertionError(e);
                  }
                }),
            List.of());
    run(program, List.of(), LaunchRange.of(2));
    assertThat(threads).hasSize(2);
  }

  @Test
  void whoComputesAloneHasNoOtherThreadAtWork() {
    Set<Thread> threads = ConcurrentHashMap.newKeySet();
    AtomicInteger count = new AtomicInteger();
    Program program =
        device.compile(
            KernelSource.java(
                item -> {
                  threads.add(Thread.currentThread());
                  count.incrementAndGet();
                }),
            List.of());
    CpuDevice.computeAlone(() -> run(program, List.of(), LaunchRange.of(200_000)));
    assertThat(threads).containsExactly(Thread.currentThread());
    assertThat(count).hasValue(200_000);
  }

  @Test
  void aKernelMayLaunchAnotherOnItsOwnQueue() {
    AtomicInteger inner = new AtomicInteger();
    Program one = device.compile(KernelSource.java(item -> inner.incrementAndGet()), List.of());
    Program outer =
        device.compile(
            KernelSource.java(
                item -> queue.launch(new Launch(one, List.of(), LaunchRange.of(100))).await()),
            List.of());
    run(outer, List.of(), LaunchRange.of(64));
    assertThat(inner).hasValue(6400);
  }

  @Test
  void anInterruptStaysSetAndDoesNotCutALaunchShort() {
    AtomicInteger count = new AtomicInteger();
    Program program = device.compile(KernelSource.java(item -> count.incrementAndGet()), List.of());
    Thread.currentThread().interrupt();
    run(program, List.of(), LaunchRange.of(200_000));
    assertThat(Thread.interrupted()).isTrue();
    assertThat(count).hasValue(200_000);
  }
}
