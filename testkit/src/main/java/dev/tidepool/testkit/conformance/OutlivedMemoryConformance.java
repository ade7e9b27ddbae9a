package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeHandle;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferReport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Memory that outlives its buffer (wrapped, adopted, mapped from a file, shared by name) has the
 * newest bytes when the buffer is closed, whatever computed them and whatever thread closes it.
 */
public abstract class OutlivedMemoryConformance extends Topic {
  private static final int LENGTH = 50_021;

  private Arena arena = Arena.ofShared();
  private @TempDir Path folder = Path.of("");

  @BeforeEach
  final void openArena() {
    arena = Arena.ofShared();
  }

  @AfterEach
  final void closeArena() {
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }

  /** One kind of memory that outlives its buffer: creates a buffer, and reads the memory. */
  private record Kind(String name, Source source) {
    interface Source {
      Opened open(UnifiedMemoryManager memory) throws IOException;
    }
  }

  /** A buffer over memory that outlives it. */
  private record Opened(UnifiedBuffer<float[]> buffer, Reader reader) {
    interface Reader {
      float[] read() throws IOException;
    }
  }

  private List<Kind> kinds() {
    return List.of(
        new Kind("wrapped", memory -> wrapped(memory, 0, MemoryLocation.HOST)),
        new Kind("wrapped at byte 4", memory -> wrapped(memory, 4, MemoryLocation.HOST)),
        new Kind("wrapped and page-locked", memory -> wrapped(memory, 0, MemoryLocation.PINNED)),
        new Kind(
            "wrapped at byte 12 and page-locked",
            memory -> wrapped(memory, 12, MemoryLocation.PINNED)),
        new Kind("of an automatic arena", OutlivedMemoryConformance::automatic),
        new Kind("adopted", this::adopted),
        new Kind("a mapped file", this::mapped),
        new Kind("shared by name", this::shared));
  }

  private Opened wrapped(UnifiedMemoryManager memory, long offset, MemoryLocation location) {
    MemorySegment segment =
        arena.allocate(offset + 4L * LENGTH, 64).asSlice(offset, 4L * LENGTH).fill((byte) 0);
    return new Opened(
        memory.wrap(ElementType.FLOAT, segment, location),
        () -> contents(ElementType.FLOAT, segment));
  }

  private Opened adopted(UnifiedMemoryManager memory) {
    MemorySegment segment = arena.allocate(4L * LENGTH, 4);
    return new Opened(
        memory.adopt(ElementType.FLOAT, NativeHandle.of(segment), () -> {}),
        () -> contents(ElementType.FLOAT, segment));
  }

  private static Opened automatic(UnifiedMemoryManager memory) {
    MemorySegment segment = Arena.ofAuto().allocate(4L * LENGTH, 4);
    return new Opened(
        memory.wrap(ElementType.FLOAT, segment), () -> contents(ElementType.FLOAT, segment));
  }

  private Opened mapped(UnifiedMemoryManager memory) throws IOException {
    Path file = Files.write(Files.createTempFile(folder, "mapped", ".raw"), new byte[4 * LENGTH]);
    return new Opened(
        memory.map(file, ElementType.FLOAT, MapMode.READ_WRITE),
        () -> {
          float[] values = new float[LENGTH];
          ByteBuffer.wrap(Files.readAllBytes(file))
              .order(ByteOrder.nativeOrder())
              .asFloatBuffer()
              .get(values);
          return values;
        });
  }

  private Opened shared(UnifiedMemoryManager memory) {
    String name = "outlived-" + UUID.randomUUID();
    UnifiedBuffer<float[]> buffer = memory.createShared(ElementType.FLOAT, LENGTH, name);
    UnifiedBuffer<float[]> partner =
        bench().owned(bench().memory().openShared(ElementType.FLOAT, name));
    return new Opened(buffer, () -> contents(partner));
  }

  private interface KindTest {
    void run(Opened opened) throws Exception;
  }

  private Stream<DynamicTest> ofEveryKind(KindTest test) {
    return kinds().stream()
        .map(
            kind ->
                DynamicTest.dynamicTest(
                    kind.name(),
                    () -> {
                      Opened opened = kind.source().open(memory());
                      try {
                        test.run(opened);
                      } finally {
                        opened.buffer().close();
                      }
                    }));
  }

  private static float[] fives() {
    return filled(5);
  }

  private static float[] filled(float value) {
    float[] values = new float[LENGTH];
    java.util.Arrays.fill(values, value);
    return values;
  }

  private static void assertHolds(Opened opened, float[] expected) throws IOException {
    Patterns.assertEqual(opened.reader().read(), expected, "the memory under a closed buffer");
  }

  private void set(UnifiedBuffer<float[]> buffer, float value) {
    bench().kernel("y = a").execute(Arguments.of("a", value, "y", buffer));
  }

  private CompletableFuture<Void> setAsync(UnifiedBuffer<float[]> buffer, float value) {
    return bench().kernel("y = a").executeAsync(Arguments.of("a", value, "y", buffer));
  }

  @TestFactory
  Stream<DynamicTest> aKernelsResultIsThereWhenTheBufferIsClosed() {
    return ofEveryKind(
        opened -> {
          set(opened.buffer(), 5);
          opened.buffer().close();
          assertHolds(opened, fives());
          assertThat(memory().statistics().lostResults()).isZero();
        });
  }

  @TestFactory
  Stream<DynamicTest> aCloseUnderRunningKernelsBringsTheLastResult() {
    return ofEveryKind(
        opened -> {
          Kernel increment = bench().kernel("y = y + 1");
          for (int i = 0; i < 20; i++) {
            increment.executeAsync(Arguments.of("y", opened.buffer()));
          }
          opened.buffer().close();
          assertHolds(opened, filled(20));
        });
  }

  @TestFactory
  Stream<DynamicTest> theArenaMayBeClosedOnTheNextLine() {
    return Stream.of(MemoryLocation.HOST, MemoryLocation.PINNED)
        .map(
            location ->
                DynamicTest.dynamicTest(
                    location.name(),
                    () -> {
                      for (int round = 0; round < 20; round++) {
                        Arena own = Arena.ofShared();
                        MemorySegment segment = own.allocate(4L * LENGTH, 4);
                        UnifiedBuffer<float[]> result =
                            memory().wrap(ElementType.FLOAT, segment, location);
                        UnifiedBuffer<float[]> input =
                            memory()
                                .wrap(
                                    ElementType.FLOAT,
                                    own.allocate(4L * LENGTH, 4).fill((byte) 0),
                                    location);
                        bench()
                            .kernel("y = x + a")
                            .executeAsync(Arguments.of("a", 5f, "x", input, "y", result));
                        input.close();
                        result.close();
                        Patterns.assertEqual(
                            contents(ElementType.FLOAT, segment), fives(), "before the arena ends");
                        own.close();
                      }
                    }));
  }

  @TestFactory
  Stream<DynamicTest> pendingReadsAreDoneWhenTheBufferIsClosed() {
    return ofEveryKind(
        opened -> {
          opened.buffer().copyFrom(fives());
          UnifiedBuffer<float[]> sum = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
          CompletableFuture<Void> reading =
              bench().kernel("s = x").executeAsync(Arguments.of("x", opened.buffer(), "s", sum));
          float[] out = new float[LENGTH];
          CompletableFuture<Void> copying = opened.buffer().copyToAsync(out);
          opened.buffer().close();
          // All readers of the memory have ended, but the futures complete on other threads.
          reading.join();
          copying.join();
          Patterns.assertEqual(out, fives(), "read before the close");
          Patterns.assertEqual(contents(sum), fives(), "read by a kernel before the close");
        });
  }

  @TestFactory
  Stream<DynamicTest> aCompletionCallbackMayClose() {
    return ofEveryKind(
        opened -> {
          setAsync(opened.buffer(), 5).thenRun(opened.buffer()::close).join();
          assertHolds(opened, fives());
        });
  }

  @TestFactory
  Stream<DynamicTest> anInterruptedThreadMayClose() {
    return ofEveryKind(
        opened -> {
          setAsync(opened.buffer(), 4);
          setAsync(opened.buffer(), 5);
          Thread.currentThread().interrupt();
          opened.buffer().close();
          assertThat(Thread.interrupted()).as("the interrupt stays set").isTrue();
          assertHolds(opened, fives());
        });
  }

  @TestFactory
  Stream<DynamicTest> aVirtualThreadMayClose() {
    return ofEveryKind(
        opened -> {
          setAsync(opened.buffer(), 4);
          setAsync(opened.buffer(), 5);
          Thread.ofVirtual().start(opened.buffer()::close).join();
          assertHolds(opened, fives());
        });
  }

  @TestFactory
  Stream<DynamicTest> aSecondCloserWaitsForTheFirst() {
    return ofEveryKind(
        opened -> {
          for (int i = 0; i < 5; i++) {
            setAsync(opened.buffer(), i);
          }
          setAsync(opened.buffer(), 5);
          List<Thread> closers = new ArrayList<>();
          List<float[]> seen = new java.util.concurrent.CopyOnWriteArrayList<>();
          for (int i = 0; i < 3; i++) {
            closers.add(
                Thread.ofPlatform()
                    .start(
                        () -> {
                          opened.buffer().close();
                          try {
                            seen.add(opened.reader().read());
                          } catch (IOException e) {
                            throw new AssertionError(e);
                          }
                        }));
          }
          for (Thread closer : closers) {
            closer.join();
          }
          assertThat(seen).hasSize(3);
          for (float[] values : seen) {
            Patterns.assertEqual(values, fives(), "seen after a close");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> aSliceWritesItsPartAndItsCloseBringsNothing() {
    return ofEveryKind(
        opened -> {
          opened.buffer().fill((byte) 0);
          try (UnifiedBuffer<float[]> slice = opened.buffer().slice(7, 1001)) {
            set(slice, 5);
          }
          opened.buffer().close();
          float[] expected = new float[LENGTH];
          java.util.Arrays.fill(expected, 7, 7 + 1001, 5);
          assertHolds(opened, expected);
        });
  }

  @TestFactory
  Stream<DynamicTest> synchronizingTheManagerMakesTheMemoryValid() {
    return ofEveryKind(
        opened -> {
          setAsync(opened.buffer(), 5);
          memory().synchronize();
          assertHolds(opened, fives());
          set(opened.buffer(), 6);
          memory().synchronize();
          assertHolds(opened, filled(6));
        });
  }

  @TestFactory
  Stream<DynamicTest> whatIsMappedIsBroughtBackAtTheCloseAndFreedWithTheMapping() {
    return ofEveryKind(
        opened -> {
          set(opened.buffer(), 5);
          HostMapping mapping = opened.buffer().slice(0, 10).map(MapMode.READ_WRITE);
          opened.buffer().close();
          assertHolds(opened, fives());
          mapping.segment().set(ValueLayout.JAVA_FLOAT, 0, 6f);
          mapping.close();
          float[] expected = fives();
          expected[0] = 6;
          assertHolds(opened, expected);
        });
  }

  @TestFactory
  Stream<DynamicTest> aManagerThatIsClosedBringsResultsBack() {
    return kinds().stream()
        .map(
            kind ->
                DynamicTest.dynamicTest(
                    kind.name(),
                    () -> {
                      bench().assumeCompiler();
                      UnifiedMemoryManager manager =
                          bench().manager(bench().accelerator(), MemoryOptions.defaults());
                      Opened opened = kind.source().open(manager);
                      Kernel kernel = kernelOf(manager);
                      kernel.execute(Arguments.of("a", 4f, "y", opened.buffer()));
                      kernel.executeAsync(Arguments.of("a", 5f, "y", opened.buffer()));
                      manager.close();
                      assertHolds(opened, fives());
                    }));
  }

  @TestFactory
  Stream<DynamicTest> aTidepoolThatIsClosedBringsResultsBack() {
    return kinds().stream()
        .map(
            kind ->
                DynamicTest.dynamicTest(
                    kind.name(),
                    () -> {
                      bench().assumeCompiler();
                      Tidepool tidepool = bench().openTidepool();
                      UnifiedMemoryManager manager =
                          tidepool.memory(tidepool.accelerator(bench().accelerator().id()));
                      Opened opened = kind.source().open(manager);
                      kernelOf(manager).executeAsync(Arguments.of("a", 5f, "y", opened.buffer()));
                      tidepool.close();
                      assertHolds(opened, fives());
                    }));
  }

  private Kernel kernelOf(UnifiedMemoryManager manager) {
    bench().assumeCompiler();
    return manager.compile(dev.tidepool.KernelSource.elementwise("y = a"));
  }

  @Test
  final void bytesThatTheArenaTookAlongAreReportedAsLost() {
    UnifiedBuffer<float[]> buffer =
        memory().wrap(ElementType.FLOAT, arena.allocate(4L * LENGTH, 4));
    set(buffer, 5);
    arena.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> contents(buffer))
        .withMessageContaining("its arena was closed before the buffer");
    if (bench().accelerator().id().startsWith("cpu")) {
      buffer.close();
      assertThat(memory().statistics().lostResults()).as("nothing was elsewhere").isZero();
      return;
    }
    assertThatThrownBy(buffer::close)
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("'wrapped'")
        .hasMessageContaining(4L * LENGTH + " bytes")
        .hasMessageContaining("its arena was closed before the buffer");
    buffer.close();
    assertThat(memory().statistics().lostResults()).isEqualTo(1);
    eventually("it is freed", () -> memory().statistics().activeBuffers() == 0);
  }

  @Test
  final void anArenaThatEndedWithOldBytesOnlyLosesNothing() {
    UnifiedBuffer<float[]> buffer =
        memory().wrap(ElementType.FLOAT, arena.allocate(4L * LENGTH, 4));
    set(buffer, 5);
    memory().synchronize();
    arena.close();
    buffer.close();
    assertThat(memory().statistics().lostResults()).isZero();
  }

  @Test
  final void theArenaMayBeClosedWhileABufferOverItIsClosed() throws Exception {
    for (int round = 0; round < 20; round++) {
      Arena own = Arena.ofShared();
      MemorySegment segment = own.allocate(4L * LENGTH, 4);
      UnifiedBuffer<float[]> buffer = memory().wrap(ElementType.FLOAT, segment);
      setAsync(buffer, 5);
      Thread closing =
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (own.scope().isAlive()) {
                      try {
                        own.close();
                      } catch (IllegalStateException held) {
                        Thread.onSpinWait(); // a copy is running; close may be called again
                      }
                    }
                  });
      try {
        buffer.close();
      } catch (TransferException lost) {
        assertThat(lost).hasMessageContaining("its arena was closed before the buffer");
      }
      closing.join();
    }
    assertThat(memory().statistics().activeBuffers()).isZero();
  }

  @Test
  final void onlyTheCpuUsesMemoryOfOthersWhereItLies() {
    boolean here = bench().accelerator().id().startsWith("cpu");
    try (UnifiedBuffer<float[]> buffer =
        memory().wrap(ElementType.FLOAT, arena.allocate(4L * LENGTH, 4))) {
      bench().kernel("y = y + 1").execute(Arguments.of("y", buffer));
      assertThat(buffer.metrics().hostToDeviceBytes() > 0).as("it was copied").isEqualTo(!here);
    }
  }

  /** Two buffers over one memory; the second begins some elements later. */
  private record Twice(UnifiedBuffer<float[]> first, UnifiedBuffer<float[]> second, Memory memory) {
    static final int SHIFT = 100;
    static final int COUNT = LENGTH - SHIFT;

    interface Memory {
      float[] read() throws IOException;
    }
  }

  private interface TwiceTest {
    void run(Twice twice) throws Exception;
  }

  private Stream<DynamicTest> overOneMemoryTwice(TwiceTest test) {
    return Stream.of(
        DynamicTest.dynamicTest(
            "wrapped",
            () -> {
              MemorySegment all = arena.allocate(4L * LENGTH, 64);
              ElementType.FLOAT.write(pattern(LENGTH, 1), 0, all, 0, LENGTH);
              try (UnifiedBuffer<float[]> first =
                      memory().wrap(ElementType.FLOAT, all.asSlice(0, 4L * Twice.COUNT));
                  UnifiedBuffer<float[]> second =
                      memory().wrap(ElementType.FLOAT, all.asSlice(4L * Twice.SHIFT))) {
                test.run(new Twice(first, second, () -> contents(ElementType.FLOAT, all)));
              }
            }),
        DynamicTest.dynamicTest(
            "a mapped file",
            () -> {
              Path file = Files.createTempFile(folder, "mapped", ".raw");
              Files.write(file, new byte[4 * LENGTH]);
              try (UnifiedBuffer<float[]> first =
                      memory().map(file, ElementType.FLOAT, MapMode.READ_WRITE);
                  UnifiedBuffer<float[]> second =
                      memory().map(file, ElementType.FLOAT, MapMode.READ_WRITE)) {
                testSlices(first, second, test);
              }
            }),
        DynamicTest.dynamicTest(
            "shared by name",
            () -> {
              String name = "twice-" + UUID.randomUUID();
              try (UnifiedBuffer<float[]> first =
                      memory().createShared(ElementType.FLOAT, LENGTH, name);
                  UnifiedBuffer<float[]> second = memory().openShared(ElementType.FLOAT, name)) {
                testSlices(first, second, test);
              }
            }));
  }

  private static void testSlices(
      UnifiedBuffer<float[]> first, UnifiedBuffer<float[]> second, TwiceTest test)
      throws Exception {
    first.copyFrom(pattern(LENGTH, 1));
    test.run(
        new Twice(
            first.slice(0, Twice.COUNT),
            second.slice(Twice.SHIFT, Twice.COUNT),
            () -> contents(first)));
  }

  @TestFactory
  final Stream<DynamicTest> aKernelKnowsTwoBuffersOverOneMemory() {
    return overOneMemoryTwice(
        twice -> {
          UnifiedBuffer<float[]> first = twice.first();
          UnifiedBuffer<float[]> second = twice.second();
          assertThatThrownBy(
                  () ->
                      bench().kernel("x = 1; y = 2").execute(Arguments.of("x", first, "y", second)))
              .isInstanceOf(IllegalArgumentException.class)
              .hasMessageContaining("overlap");
          bench().kernel("y = x + 0").execute(Arguments.of("x", first, "y", second));
          memory().synchronize();
          float[] shifted = pattern(LENGTH, 1);
          System.arraycopy(pattern(LENGTH, 1), 0, shifted, Twice.SHIFT, Twice.COUNT);
          Patterns.assertEqual(twice.memory().read(), shifted, "as if the input had been copied");
        });
  }

  @TestFactory
  final Stream<DynamicTest> transfersAndPeersKnowTwoBuffersOverOneMemory() {
    return overOneMemoryTwice(
        twice -> {
          UnifiedBuffer<float[]> first = twice.first();
          UnifiedBuffer<float[]> second = twice.second();
          TransferReport report =
              memory()
                  .transfers()
                  .transfer(
                      List.of(
                          Transfer.of(first, second),
                          Transfer.of(first.slice(0, Twice.SHIFT), second)),
                      TransferOptions.defaults());
          assertThat(report.outcomes().getFirst().cause().orElseThrow())
              .hasMessageContaining("overlap");
          assertThat(report.outcomes().getLast().isDone()).isTrue();
          UnifiedBuffer<float[]> source = patterned(2 * Twice.COUNT, MemoryLocation.DEVICE, 2);
          assertThatThrownBy(
                  () -> bench().tidepool().peers().scatter(source, List.of(first, second)))
              .isInstanceOf(IllegalArgumentException.class)
              .hasMessageContaining("share bytes");
        });
  }

  @Test
  final void mappingsOfOneFileAreNotCopiedOntoEachOther() throws IOException {
    Path file = Files.write(folder.resolve("twice.raw"), new byte[4 * LENGTH]);
    try (UnifiedBuffer<float[]> first = memory().map(file, ElementType.FLOAT, MapMode.READ_WRITE);
        UnifiedBuffer<float[]> second = memory().map(file, ElementType.FLOAT, MapMode.READ_WRITE)) {
      UnifiedBuffer<float[]> front = first.slice(0, 1000);
      assertThatThrownBy(() -> second.slice(1, 1000).copyFrom(front))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("map the same bytes of one file");
      first.copyFrom(pattern(LENGTH, 1));
      second.copyFrom(first);
      second.slice(1000, 1000).copyFrom(front);
      float[] model = pattern(LENGTH, 1);
      System.arraycopy(pattern(LENGTH, 1), 0, model, 1000, 1000);
      Patterns.assertEqual(contents(first), model, "copied within the file");
    }
  }
}
