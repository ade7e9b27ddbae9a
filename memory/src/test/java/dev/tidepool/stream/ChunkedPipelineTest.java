package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.support.Uninterruptibly;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ChunkedPipelineTest {
  private static final int LENGTH = 1_000_003;
  private static final StreamOptions SMALL = StreamOptions.defaults().withChunkBytes(64 << 10);

  private PlainMemory memory = new PlainMemory(Long.MAX_VALUE, Capability.SHARED_MEMORY);

  @AfterEach
  void everyBufferIsClosedWhenRunReturns() {
    assertThat(memory.open).hasValue(0);
    assertThat(memory.computing).hasValue(0);
  }

  /** An int array as a source or a sink. */
  private record Ints(int[] values) implements ElementSource, ElementSink {
    @Override
    public ElementType<?> elementType() {
      return ElementType.INT;
    }

    @Override
    public long length() {
      return values.length;
    }

    @Override
    public void read(long elementOffset, MemorySegment destination) {
      ElementType.INT.write(
          values, (int) elementOffset, destination, 0, (int) destination.byteSize() / 4);
    }

    @Override
    public void write(long elementOffset, MemorySegment source) {
      assertThat(source.isReadOnly()).isTrue();
      ElementType.INT.read(source, 0, values, (int) elementOffset, (int) source.byteSize() / 4);
    }
  }

  /** Does as another source does. */
  private static class Delegating implements ElementSource {
    private final ElementSource source;

    Delegating(ElementSource source) {
      this.source = source;
    }

    @Override
    public ElementType<?> elementType() {
      return source.elementType();
    }

    @Override
    public long length() {
      return source.length();
    }

    @Override
    public void read(long elementOffset, MemorySegment destination) {
      source.read(elementOffset, destination);
    }
  }

  private static Ints counting() {
    int[] values = new int[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      values[i] = i;
    }
    return new Ints(values);
  }

  private ChunkedPipeline.Builder doubling(ElementSource x, ElementSink y) {
    UnifiedMemoryManager manager = memory.manager();
    return ChunkedPipeline.of(manager, manager.compile(KernelSource.elementwise("y = 2 * x + a")))
        .source("x", x)
        .scalar("a", 7)
        .sink("y", y);
  }

  private static void assertDoubled(Ints y) {
    int[] expected = new int[LENGTH];
    Arrays.setAll(expected, i -> 2 * i + 7);
    assertThat(Arrays.mismatch(y.values(), expected)).isEqualTo(-1);
  }

  @Test
  void everyElementIsComputedOnce() {
    AtomicInteger written = new AtomicInteger();
    Ints y = new Ints(new int[LENGTH]);
    ElementSink counted =
        new ElementSink() {
          @Override
          public ElementType<?> elementType() {
            return ElementType.INT;
          }

          @Override
          public long length() {
            return LENGTH;
          }

          @Override
          public void write(long elementOffset, MemorySegment source) {
            written.addAndGet((int) source.byteSize() / 4);
            y.write(elementOffset, source);
          }
        };
    doubling(counting(), counted).build(SMALL).run();

    assertDoubled(y);
    assertThat(written).hasValue(LENGTH);
  }

  @Test
  void anUpdatedArrayIsReadAndOverwritten() {
    Ints x = counting();
    UnifiedMemoryManager manager = memory.manager();
    ChunkedPipeline.of(manager, manager.compile(KernelSource.elementwise("x = 2 * x + 7")))
        .source("x", x)
        .sink("x", x)
        .build(SMALL)
        .run();

    assertDoubled(x);
  }

  @Test
  void nothingIsComputedOverNothing() {
    List<Long> progress = new ArrayList<>();
    doubling(new Ints(new int[0]), new Ints(new int[0]))
        .build(SMALL.withProgress((done, total) -> progress.add(done + total)))
        .run();

    assertThat(progress).containsExactly(0L);
    assertThat(memory.lengths).isEmpty();
  }

  @Test
  void workersOnEveryProcessorKeepTheirKernelsToThemselves() {
    Set<String> threads = ConcurrentHashMap.newKeySet();
    Ints y = new Ints(new int[LENGTH]);
    try (UnifiedMemoryManager cpu = UnifiedMemoryManager.create()) {
      Kernel kernel =
          cpu.compile(
              KernelSource.java(
                  item -> {
                    threads.add(Thread.currentThread().getName());
                    long at = item.globalId(0) * 4;
                    int x = item.array(0).get(ValueLayout.JAVA_INT_UNALIGNED, at);
                    item.array(1).set(ValueLayout.JAVA_INT_UNALIGNED, at, 2 * x + 7);
                  },
                  KernelParameter.in("x", ElementType.INT),
                  KernelParameter.out("y", ElementType.INT)));
      ChunkedPipeline.of(cpu, kernel)
          .source("x", counting())
          .sink("y", y)
          .build(StreamOptions.defaults().withChunkBytes(1 << 20))
          .run();
    }

    assertDoubled(y);
    assertThat(threads).allMatch(name -> name.startsWith("tidepool-pipeline-"));
  }

  @Test
  void atLeastTwoChunksAreInFlight() {
    CyclicBarrier both = new CyclicBarrier(2);
    Ints x = counting();
    ElementSource meeting =
        new ElementSource() {
          @Override
          public ElementType<?> elementType() {
            return ElementType.INT;
          }

          @Override
          public long length() {
            return 2048;
          }

          @Override
          public void read(long elementOffset, MemorySegment destination) {
            try {
              both.await(30, TimeUnit.SECONDS);
            } catch (Exception e) {
              throw new AssertionError("no second chunk is read meanwhile", e);
            }
            x.read(elementOffset, destination);
          }
        };
    ChunkedPipeline pipeline =
        doubling(meeting, new Ints(new int[2048])).build(StreamOptions.defaults().withLanes(2));

    assertThat(pipeline.lanes()).isEqualTo(2);
    pipeline.run();
  }

  @Test
  void buffersKeepTheMemoryLimit() {
    StreamOptions options = StreamOptions.defaults().withMemoryLimit(100_000).withLanes(5);
    Ints y = new Ints(new int[LENGTH]);
    doubling(counting(), y).build(options).run();

    assertDoubled(y);
    assertThat(memory.peak.get()).isBetween(16_384L, 100_000L);
  }

  @Test
  void whereMemoryIsNotSharedTheCopiesOnTheDeviceCountToo() {
    memory = new PlainMemory(Long.MAX_VALUE);
    StreamOptions options = StreamOptions.defaults().withMemoryLimit(100_000).withLanes(2);
    Ints y = new Ints(new int[LENGTH]);
    doubling(counting(), y).build(options).run();

    assertDoubled(y);
    assertThat(memory.peak.get()).isBetween(16_384L, 50_000L);
  }

  @Test
  void whenMemoryRunsOutChunksAreHalvedAndTheWorkGoesOn() {
    memory = new PlainMemory(70_000, Capability.SHARED_MEMORY);
    AtomicLong longest = new AtomicLong();
    ElementSource measured =
        new Delegating(counting()) {
          @Override
          public void read(long elementOffset, MemorySegment destination) {
            longest.accumulateAndGet(destination.byteSize(), Math::max);
            super.read(elementOffset, destination);
          }
        };
    Ints y = new Ints(new int[LENGTH]);
    doubling(measured, y).build(SMALL.withLanes(3)).run();

    assertDoubled(y);
    assertThat(longest.get()).isPositive().isLessThan(64 << 10);
    assertThat(memory.peak.get()).isLessThanOrEqualTo(70_000);
  }

  @Test
  void workersThatFindNoMemoryAtAllLeaveTheirWorkToOthers() {
    memory = new PlainMemory(9000, Capability.SHARED_MEMORY);
    for (int i = 0; i < 20; i++) {
      Ints y = new Ints(new int[LENGTH]);
      doubling(counting(), y).build(SMALL.withLanes(8)).run();

      assertDoubled(y);
    }
  }

  @Test
  void withoutRoomForTheSmallestChunkItFails() {
    memory = new PlainMemory(8000, Capability.SHARED_MEMORY);
    ChunkedPipeline pipeline =
        doubling(counting(), new Ints(new int[LENGTH])).build(SMALL.withLanes(4));

    assertThatThrownBy(pipeline::run).isInstanceOf(OutOfDeviceMemoryException.class);
  }

  /** Stalls in the first chunk until no other one is read any more, and tells how many were. */
  private static final class Stalling extends Delegating {
    private final AtomicInteger reads = new AtomicInteger();
    private final IntConsumer stalled;

    Stalling(ElementSource source, IntConsumer stalled) {
      super(source);
      this.stalled = stalled;
    }

    @Override
    public void read(long elementOffset, MemorySegment destination) {
      if (elementOffset == 0) {
        for (int before = -1; before != reads.get(); ) {
          before = reads.get();
          LockSupport.parkNanos(200_000_000);
        }
        stalled.accept(reads.get());
      }
      reads.incrementAndGet();
      super.read(elementOffset, destination);
    }
  }

  @Test
  void forOrderedSinksFewChunksAreReadWhileAnOlderOneStalls() {
    AtomicInteger meanwhile = new AtomicInteger();
    Ints y = new Ints(new int[LENGTH]);
    ChunkedPipeline.Builder builder = doubling(new Stalling(counting(), meanwhile::set), y);
    builder.ordered();
    builder.build(SMALL.withLanes(3)).run();

    assertDoubled(y);
    assertThat(meanwhile.get()).isBetween(1, 5);
  }

  @Test
  void workersThatWaitForAStallingChunkEndWhenItFails() {
    RuntimeException broken = new TransferException("the disk is on fire", null);
    Stalling x =
        new Stalling(
            counting(),
            _ -> {
              throw broken;
            });
    ChunkedPipeline.Builder builder = doubling(x, new Ints(new int[LENGTH]));
    builder.ordered();

    assertThatThrownBy(builder.build(SMALL)::run).isSameAs(broken);
  }

  @Test
  void workersThatWaitForAStallingChunkEndWhenItsSinkThrows() {
    RuntimeException broken = new TransferException("the disk is on fire", null);
    ElementSink y =
        new ElementSink() {
          @Override
          public ElementType<?> elementType() {
            return ElementType.INT;
          }

          @Override
          public long length() {
            return LENGTH;
          }

          @Override
          public void write(long elementOffset, MemorySegment source) {
            if (elementOffset == 0) {
              throw broken;
            }
          }
        };
    ChunkedPipeline.Builder builder = doubling(new Stalling(counting(), _ -> {}), y);
    builder.ordered();

    assertThatThrownBy(builder.build(SMALL)::run).isSameAs(broken);
  }

  @Test
  void workersThatWaitForAStallingChunkEndWhenThePipelineIsCancelled() {
    AtomicReference<ChunkedPipeline> pipeline = new AtomicReference<>();
    Stalling x = new Stalling(counting(), _ -> pipeline.get().cancel());
    ChunkedPipeline.Builder builder = doubling(x, new Ints(new int[LENGTH]));
    builder.ordered();
    pipeline.set(builder.build(SMALL));

    assertThatThrownBy(pipeline.get()::run).isInstanceOf(CancellationException.class);
  }

  /** Fails at an element, in reads. Reads behind that wait until it fails. */
  private record Failing(Ints values, long at, RuntimeException failure, CountDownLatch fails)
      implements ElementSource {
    Failing(Ints values, long at, RuntimeException failure) {
      this(values, at, failure, new CountDownLatch(1));
    }

    @Override
    public ElementType<?> elementType() {
      return values.elementType();
    }

    @Override
    public long length() {
      return values.length();
    }

    @Override
    public void read(long elementOffset, MemorySegment destination) {
      long end = elementOffset + destination.byteSize() / 4;
      if (elementOffset <= at && at < end) {
        fails.countDown();
        throw failure;
      }
      if (elementOffset > at) {
        Uninterruptibly.await(fails::await);
      }
      values.read(elementOffset, destination);
    }
  }

  @Test
  void theFirstFailureStopsAllWorkersAndIsThrown() {
    RuntimeException broken = new TransferException("the disk is on fire", null);
    Ints y = new Ints(new int[LENGTH]);
    ChunkedPipeline pipeline = doubling(new Failing(counting(), 100_000, broken), y).build(SMALL);

    assertThatThrownBy(pipeline::run).isSameAs(broken);
    assertThat(y.values()[LENGTH - 1]).isZero();
  }

  @Test
  void whatOtherLanguagesThrowUndeclaredFailsTheRun() {
    IOException broken = new IOException("the disk is on fire");
    ElementSource failing =
        new Delegating(counting()) {
          @Override
          public void read(long elementOffset, MemorySegment destination) {
            ChunkedPipelineTest.<RuntimeException>throwUndeclared(broken);
          }
        };
    ChunkedPipeline pipeline = doubling(failing, new Ints(new int[LENGTH])).build(SMALL);

    assertThatThrownBy(pipeline::run).isInstanceOf(TidepoolException.class).hasCause(broken);
  }

  @SuppressWarnings("unchecked") // as Kotlin compiles it
  private static <X extends Throwable> void throwUndeclared(Throwable thrown) throws X {
    throw (X) thrown;
  }

  @Test
  void failuresOfOtherWorkersAreAttached() {
    CyclicBarrier both = new CyclicBarrier(2);
    ElementSource failing =
        new ElementSource() {
          @Override
          public ElementType<?> elementType() {
            return ElementType.INT;
          }

          @Override
          public long length() {
            return 2048;
          }

          @Override
          public void read(long elementOffset, MemorySegment destination) {
            try {
              both.await(30, TimeUnit.SECONDS);
            } catch (Exception e) {
              throw new AssertionError(e);
            }
            throw new TransferException("at " + elementOffset, null);
          }
        };
    ChunkedPipeline pipeline =
        doubling(failing, new Ints(new int[2048])).build(StreamOptions.defaults().withLanes(2));

    assertThatThrownBy(pipeline::run)
        .isInstanceOf(TransferException.class)
        .satisfies(first -> assertThat(first.getSuppressed()).hasSize(1));
  }

  private static AcceleratorException lost(String detail) {
    return new AcceleratorException("plainLaunch", -1, "PLAIN_LOST", detail);
  }

  private final PlainMemory second =
      new PlainMemory("plain:1", Long.MAX_VALUE, Capability.SHARED_MEMORY);

  @Test
  void severalAcceleratorsShareTheChunks() {
    CyclicBarrier both = new CyclicBarrier(2);
    Ints x = counting();
    Set<Thread> met = ConcurrentHashMap.newKeySet();
    AtomicInteger arrivals = new AtomicInteger();
    ElementSource meeting =
        new Delegating(x) {
          @Override
          public void read(long elementOffset, MemorySegment destination) {
            // The first chunks of both: neither can have all of the work.
            if (elementOffset < 4096
                && met.add(Thread.currentThread())
                && arrivals.incrementAndGet() <= 2) {
              try {
                both.await(60, TimeUnit.SECONDS);
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            }
            super.read(elementOffset, destination);
          }
        };
    Ints y = new Ints(new int[LENGTH]);
    ChunkedPipeline pipeline = doubling(meeting, y).on(second.manager()).build(SMALL.withLanes(2));
    pipeline.run();

    assertDoubled(y);
    assertThat(pipeline.dropped()).isEmpty();
    assertThat(second.open).hasValue(0);
  }

  @Test
  void anAcceleratorThatFailsLeavesItsWorkToTheOthers() {
    RuntimeException lost = lost("the device is lost");
    second.failure = lost;
    for (int i = 0; i < 10; i++) {
      // Or the first would do it all, before the second has begun.
      CountDownLatch begun = new CountDownLatch(1);
      second.beforeKernels = begun::countDown;
      memory.beforeKernels = () -> Uninterruptibly.await(begun::await);
      Ints y = new Ints(new int[LENGTH]);
      ChunkedPipeline pipeline = doubling(counting(), y).on(second.manager()).build(SMALL);
      pipeline.run();

      assertDoubled(y);
      assertThat(pipeline.dropped()).isEqualTo(Map.of("plain:1", lost));
    }
    assertThat(second.open).hasValue(0);
  }

  @Test
  void aRangeThatWasWrittenIsNotLeftToTheOthersWhateverFailsThen() {
    RuntimeException lost = lost("the device was lost right behind");
    second.unmapping = lost;
    CountDownLatch begun = new CountDownLatch(1);
    second.beforeKernels = begun::countDown;
    memory.beforeKernels = () -> Uninterruptibly.await(begun::await);
    ChunkedPipeline pipeline =
        doubling(counting(), new Ints(new int[LENGTH])).on(second.manager()).build(SMALL);

    assertThatThrownBy(pipeline::run).isSameAs(lost);
    assertThat(pipeline.dropped()).isEmpty();
  }

  @Test
  void whenAllAcceleratorsFailTheFailuresAreThrown() {
    memory.failure = lost("the first is lost");
    second.failure = lost("the second is lost");
    ChunkedPipeline pipeline =
        doubling(counting(), new Ints(new int[LENGTH])).on(second.manager()).build(SMALL);

    assertThatThrownBy(pipeline::run)
        .isInstanceOf(AcceleratorException.class)
        .satisfies(
            thrown ->
                assertThat(Stream.concat(Stream.of(thrown), Stream.of(thrown.getSuppressed())))
                    .contains(memory.failure, second.failure));
    assertThat(second.open).hasValue(0);
  }

  @Test
  void aSourceThatFailsIsNoFaultOfItsAccelerator() {
    RuntimeException broken = new TransferException("the disk is on fire", null);
    ChunkedPipeline pipeline =
        doubling(new Failing(counting(), 500_000, broken), new Ints(new int[LENGTH]))
            .on(second.manager())
            .build(SMALL);

    assertThatThrownBy(pipeline::run).isSameAs(broken);
    assertThat(pipeline.dropped()).isEmpty();
  }

  @Test
  void whatOneKernelWritesTheNextOneReadsWithoutASink() {
    Ints y = new Ints(new int[LENGTH]);
    UnifiedMemoryManager manager = memory.manager();
    ChunkedPipeline.of(manager, manager.compile(KernelSource.elementwise("t = 2 * x")))
        .then(KernelSource.elementwise("y = t + a"))
        .source("x", counting())
        .scalar("a", 7)
        .sink("y", y)
        .build(SMALL)
        .run();

    assertDoubled(y);
  }

  @Test
  void theSameBitsAreNotPromisedWhereFunctionsMayDiffer() {
    UnifiedMemoryManager manager = memory.manager();
    StreamOptions same = SMALL.withDeterministic();
    Ints y = new Ints(new int[LENGTH]);
    doubling(counting(), y).on(second.manager()).build(same).run();

    assertDoubled(y);
    assertThatThrownBy(
            () ->
                ChunkedPipeline.of(manager, manager.compile(KernelSource.elementwise("y = x**3")))
                    .on(second.manager())
                    .source("x", counting())
                    .sink("y", y)
                    .build(same))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("between plain:0 and plain:1");
  }

  @Test
  void anAcceleratorIsNamedOnce() {
    assertThatThrownBy(() -> doubling(counting(), new Ints(new int[LENGTH])).on(memory.manager()))
        .hasMessageContaining("plain:0 is given twice");
  }

  @Test
  void cancellingStopsBeforeTheNextChunk() {
    AtomicReference<ChunkedPipeline> pipeline = new AtomicReference<>();
    Ints x = counting();
    ElementSource cancelling =
        new ElementSource() {
          @Override
          public ElementType<?> elementType() {
            return ElementType.INT;
          }

          @Override
          public long length() {
            return LENGTH;
          }

          @Override
          public void read(long elementOffset, MemorySegment destination) {
            pipeline.get().cancel();
            x.read(elementOffset, destination);
          }
        };
    pipeline.set(doubling(cancelling, new Ints(new int[LENGTH])).build(SMALL));

    assertThatThrownBy(() -> pipeline.get().run())
        .isInstanceOf(CancellationException.class)
        .hasMessageContaining("of 1000003 elements");
    assertThatThrownBy(() -> pipeline.get().run()).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aPipelineOfNoElementsIsCancelledToo() {
    Ints none = new Ints(new int[0]);
    ChunkedPipeline cancelled = doubling(none, none).build(SMALL);
    cancelled.cancel();
    assertThatThrownBy(cancelled::run)
        .isInstanceOf(CancellationException.class)
        .hasMessage("cancelled after 0 of 0 elements");

    ChunkedPipeline interrupted = doubling(none, none).build(SMALL);
    Thread.currentThread().interrupt();
    assertThatThrownBy(interrupted::run).isInstanceOf(CancellationException.class);
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void anInterruptCancelsAndStaysSet() {
    ChunkedPipeline pipeline = doubling(counting(), new Ints(new int[LENGTH])).build(SMALL);
    Thread.currentThread().interrupt();

    assertThatThrownBy(pipeline::run).isInstanceOf(CancellationException.class);
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void progressNeverFallsAndEndsWithTheTotal() {
    List<Long> done = new ArrayList<>();
    // Each quarter but the first is read when progress has been told once more.
    List<CountDownLatch> told =
        List.of(new CountDownLatch(1), new CountDownLatch(2), new CountDownLatch(3));
    ElementSource slow =
        new Delegating(counting()) {
          @Override
          public void read(long elementOffset, MemorySegment destination) {
            for (int quarter = 1; elementOffset >= quarter * LENGTH / 4; quarter++) {
              Uninterruptibly.await(told.get(quarter - 1)::await);
            }
            super.read(elementOffset, destination);
          }
        };
    ChunkedPipeline pipeline =
        doubling(slow, new Ints(new int[LENGTH]))
            .build(
                SMALL.withProgress(
                    (now, total) -> {
                      assertThat(total).isEqualTo(8L * LENGTH);
                      done.add(now);
                      told.forEach(CountDownLatch::countDown);
                    }));
    pipeline.run();

    assertThat(done).isSorted().endsWith(8L * LENGTH).hasSizeGreaterThan(3);
    assertThat(pipeline.totalBytes()).isEqualTo(8L * LENGTH);
  }

  @Test
  void whatHearsOfProgressAndFailsEndsTheWorkWhenWorkersHaveEnded() {
    RuntimeException enough = new IllegalStateException("enough");
    assertThatThrownBy(() -> runWithListenerThatThrows(enough)).isSameAs(enough);
    assertThat(memory.open).as("buffers of the workers").hasValue(0);
  }

  @Test
  void whatHearsOfProgressMayThrowWhatItDoesNotDeclare() {
    IOException lost = new IOException("lost");
    assertThatThrownBy(() -> runWithListenerThatThrows(lost))
        .isInstanceOf(TidepoolException.class)
        .hasCause(lost);
    assertThat(memory.open).as("buffers of the workers").hasValue(0);
  }

  private void runWithListenerThatThrows(Throwable thrown) {
    CountDownLatch told = new CountDownLatch(1);
    ElementSource waiting =
        new Delegating(counting()) {
          @Override
          public void read(long elementOffset, MemorySegment destination) {
            Uninterruptibly.await(told::await);
            super.read(elementOffset, destination);
          }
        };
    ChunkedPipeline pipeline =
        doubling(waiting, new Ints(new int[LENGTH]))
            .build(
                SMALL.withProgress(
                    (_, _) -> {
                      told.countDown();
                      ChunkedPipelineTest.<RuntimeException>sneak(thrown);
                    }));
    pipeline.run();
  }

  /** Throws a checked exception where none is declared, as other languages do. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> void sneak(Throwable thrown) throws E {
    throw (E) thrown;
  }

  @Test
  void arraysOfDifferentLengthsTypesOrNamesTwiceAreRefused() {
    Ints ints = new Ints(new int[10]);
    ChunkedPipeline.Builder builder = doubling(ints, ints);

    assertThatThrownBy(() -> builder.source("z", new Ints(new int[9])))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'z' has 9 elements")
        .hasMessageContaining("10");
    ElementSource negative =
        new Delegating(ints) {
          @Override
          public long length() {
            return -5;
          }
        };
    assertThatThrownBy(() -> doubling(negative, ints))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'x' has -5 elements");
    assertThatThrownBy(() -> builder.source("x", ints)).hasMessageContaining("'x' is given twice");
    assertThatThrownBy(() -> builder.sink("y", ints)).hasMessageContaining("'y' is given twice");
    assertThatThrownBy(() -> builder.scalar("a", 1)).hasMessageContaining("'a' is given twice");
    ElementSink floats =
        new ElementSink() {
          @Override
          public ElementType<?> elementType() {
            return ElementType.FLOAT;
          }

          @Override
          public long length() {
            return 10;
          }

          @Override
          public void write(long elementOffset, MemorySegment source) {
            throw new AssertionError(source.get(ValueLayout.JAVA_BYTE, 0));
          }
        };
    assertThatThrownBy(() -> builder.sink("x", floats))
        .hasMessageContaining("'x' is read as INT but written as FLOAT");
    UnifiedMemoryManager manager = memory.manager();
    assertThatThrownBy(
            () ->
                ChunkedPipeline.of(manager, manager.compile(KernelSource.elementwise("y = x")))
                    .source("x", ints)
                    .build(SMALL))
        .hasMessageContaining("without a sink");
  }
}
