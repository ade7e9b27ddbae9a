package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Closed objects report by name that they are closed; no unrelated objects are closed. */
public abstract class ClosedConformance extends Topic {
  private static final String TAG = "low water";

  private static Map<String, Consumer<UnifiedBuffer<float[]>>> uses() {
    Map<String, Consumer<UnifiedBuffer<float[]>>> uses = new LinkedHashMap<>();
    uses.put("elementType", UnifiedBuffer::elementType);
    uses.put("length", UnifiedBuffer::length);
    uses.put("byteSize", UnifiedBuffer::byteSize);
    uses.put("location", UnifiedBuffer::location);
    uses.put("state", UnifiedBuffer::state);
    uses.put("accelerator", UnifiedBuffer::accelerator);
    uses.put("copyFrom(array)", buffer -> buffer.copyFrom(new float[1]));
    uses.put("copyFrom(range)", buffer -> buffer.copyFrom(new float[1], 0, 0, 1));
    uses.put("copyTo(array)", buffer -> buffer.copyTo(new float[10]));
    uses.put("copyTo(range)", buffer -> buffer.copyTo(0, new float[1], 0, 1));
    uses.put("copyFrom(segment)", buffer -> buffer.copyFrom(floats(), 0));
    uses.put("copyTo(segment)", buffer -> buffer.copyTo(0, floats()));
    uses.put("copyFrom(buffer)", buffer -> buffer.copyFrom(buffer));
    uses.put("copyFromAsync(array)", buffer -> buffer.copyFromAsync(new float[1]));
    uses.put("copyFromAsync(range)", buffer -> buffer.copyFromAsync(new float[1], 0, 0, 1));
    uses.put("copyToAsync(array)", buffer -> buffer.copyToAsync(new float[10]));
    uses.put("copyToAsync(range)", buffer -> buffer.copyToAsync(0, new float[1], 0, 1));
    uses.put("copyFromAsync(segment)", buffer -> buffer.copyFromAsync(floats(), 0));
    uses.put("copyToAsync(segment)", buffer -> buffer.copyToAsync(0, floats()));
    uses.put("copyFromAsync(buffer)", buffer -> buffer.copyFromAsync(buffer));
    uses.put("asSegment", UnifiedBuffer::asSegment);
    uses.put("asReadOnlySegment", UnifiedBuffer::asReadOnlySegment);
    uses.put("map", buffer -> buffer.map(MapMode.READ));
    uses.put("map(shared)", buffer -> buffer.map(MapMode.READ, true));
    uses.put("slice", buffer -> buffer.slice(0, 1));
    uses.put("as", buffer -> buffer.as(ElementType.BYTE));
    uses.put("fill", buffer -> buffer.fill((byte) 0));
    uses.put("synchronize", UnifiedBuffer::synchronize);
    uses.put("prefetchToDevice", UnifiedBuffer::prefetchToDevice);
    uses.put("prefetchToHost", UnifiedBuffer::prefetchToHost);
    uses.put("metrics", UnifiedBuffer::metrics);
    return uses;
  }

  private static MemorySegment floats() {
    return MemorySegment.ofArray(new float[1]);
  }

  @TestFactory
  Stream<DynamicTest> everyMethodOfAClosedBufferNamesItsTag() {
    UnifiedBuffer<float[]> closed =
        bench().buffer(ElementType.FLOAT, 10, Allocation.at(MemoryLocation.DEVICE).tag(TAG));
    UnifiedBuffer<float[]> slice = closed.slice(2, 5);
    UnifiedBuffer<byte[]> view = closed.as(ElementType.BYTE);
    closed.close();
    return Stream.concat(
        uses().entrySet().stream()
            .flatMap(
                use ->
                    Stream.of(
                        DynamicTest.dynamicTest(
                            use.getKey() + " of a closed buffer",
                            () -> assertNamed(() -> use.getValue().accept(closed))),
                        DynamicTest.dynamicTest(
                            use.getKey() + " of its slice",
                            () -> assertNamed(() -> use.getValue().accept(slice))))),
        Stream.of(
            DynamicTest.dynamicTest(
                "copyTo of its view", () -> assertNamed(() -> view.copyTo(new byte[40])))));
  }

  private static void assertNamed(org.assertj.core.api.ThrowableAssert.ThrowingCallable use) {
    assertThatThrownBy(use).isInstanceOf(IllegalStateException.class).hasMessageContaining(TAG);
  }

  @Test
  void aClosedBufferIsNoArgumentOfACopyOrAKernel() {
    UnifiedBuffer<float[]> closed =
        bench().buffer(ElementType.FLOAT, 10, Allocation.at(MemoryLocation.DEVICE).tag(TAG));
    UnifiedBuffer<float[]> open = patterned(10, MemoryLocation.DEVICE, 1);
    closed.close();
    assertNamed(() -> open.copyFrom(closed));
    assertNamed(() -> memory().transfers().copy(closed, open));
    Patterns.assertEqual(contents(open), pattern(10, 1), "untouched");
    var kernel = bench().kernel("y = x");
    assertNamed(() -> kernel.execute(dev.tidepool.Arguments.of("x", closed, "y", open)));
    Patterns.assertEqual(contents(open), pattern(10, 1), "untouched");
  }

  @TestFactory
  Stream<DynamicTest> aDoubleCloseIsHarmless() {
    return inEveryLocation(
        location -> {
          long freed = memory().statistics().totalFreed();
          UnifiedBuffer<float[]> buffer = memory().allocate(ElementType.FLOAT, 100, location);
          buffer.close();
          buffer.close();
          eventually("it is freed once", () -> memory().statistics().totalFreed() == freed + 1);
          UnifiedBuffer<float[]> first = patterned(100, location, 1);
          UnifiedBuffer<float[]> second = patterned(100, location, 2);
          buffer.close();
          Patterns.assertEqual(contents(first), pattern(100, 1), "the block's next owner");
          Patterns.assertEqual(contents(second), pattern(100, 2), "the one after that");
        });
  }

  @TestFactory
  Stream<DynamicTest> closingASliceEndsOnlyItself() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> root = patterned(100, location, 1);
          UnifiedBuffer<float[]> slice = root.slice(10, 50);
          UnifiedBuffer<float[]> inner = slice.slice(5, 5);
          UnifiedBuffer<int[]> view = slice.as(ElementType.INT);
          slice.close();
          assertThatThrownBy(slice::length).isInstanceOf(IllegalStateException.class);
          Patterns.assertEqual(contents(root), pattern(100, 1), "the root");
          assertThat(memory().statistics().activeBuffers()).isPositive();
          inner.close();
          view.close();
          root.close();
          assertThatThrownBy(root::length).isInstanceOf(IllegalStateException.class);
        });
  }

  @Test
  void slicesAndViewsDoNotCountAsBuffers() {
    UnifiedBuffer<float[]> root = patterned(100, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> slice = bench().owned(root.slice(0, 50));
    UnifiedBuffer<byte[]> view = bench().owned(root.as(ElementType.BYTE));
    assertThat(slice.length() + view.length()).isEqualTo(450);
    assertThat(memory().statistics().activeBuffers()).isEqualTo(1);
    assertThat(memory().statistics().totalAllocated()).isEqualTo(400);
  }

  @Test
  void aClosedManagerTakesItsBuffersAlongAndSaysSo() {
    UnifiedMemoryManager manager = bench().manager(bench().accelerator(), MemoryOptions.defaults());
    UnifiedBuffer<float[]> open = manager.copyOf(pattern(1000, 1));
    UnifiedBuffer<float[]> host =
        manager.allocate(ElementType.FLOAT, 10, Allocation.at(MemoryLocation.HOST).tag(TAG));
    manager.close();
    manager.close();
    assertThatThrownBy(open::length).isInstanceOf(IllegalStateException.class);
    assertNamed(() -> host.copyFrom(new float[1]));
    open.close();
    assertThat(manager.statistics().activeBuffers()).isZero();
    assertThat(manager.statistics().totalAllocated()).isZero();
    assertThat(manager.statistics().totalPooled()).isZero();
    Map<String, Runnable> uses = new LinkedHashMap<>();
    uses.put("allocate", () -> manager.allocate(ElementType.FLOAT, 1));
    uses.put("copyOf", () -> manager.copyOf(new float[1]));
    uses.put(
        "allocateAsync",
        () -> manager.allocateAsync(ElementType.FLOAT, 1, Allocation.at(MemoryLocation.DEVICE)));
    uses.put("map", () -> manager.map(Path.of("none"), ElementType.FLOAT, MapMode.READ));
    uses.put("compile", () -> manager.compile(KernelSource.elementwise("y = x")));
    uses.put("buffers", manager::buffers);
    uses.put("trimExcess", manager::trimExcess);
    uses.put("synchronize", manager::synchronize);
    uses.put("transfers", manager::transfers);
    uses.forEach(
        (name, use) ->
            assertThatThrownBy(use::run, name).isInstanceOf(IllegalStateException.class));
  }

  @Test
  void aKernelEndsWithItsManager() {
    bench().assumeCompiler();
    UnifiedMemoryManager manager = bench().manager(bench().accelerator(), MemoryOptions.defaults());
    var kernel = manager.compile(KernelSource.elementwise("y = x + 1"));
    kernel.execute(dev.tidepool.Arguments.of("x", new float[3], "y", new float[3]));
    manager.close();
    assertThatThrownBy(
            () -> kernel.execute(dev.tidepool.Arguments.of("x", new float[3], "y", new float[3])))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aClosedTidepoolClosesItsManagers() {
    Tidepool tidepool = bench().openTidepool();
    UnifiedMemoryManager manager =
        tidepool.memory(tidepool.accelerator(bench().accelerator().id()));
    UnifiedBuffer<float[]> buffer = manager.copyOf(pattern(1000, 1));
    UnifiedMemoryManager further =
        UnifiedMemoryManager.create(manager.accelerator(), MemoryOptions.defaults());
    UnifiedBuffer<float[]> other = further.copyOf(pattern(1000, 2));
    tidepool.close();
    tidepool.close();
    assertThatThrownBy(buffer::length).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(other::length).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> manager.allocate(ElementType.FLOAT, 1))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> further.allocate(ElementType.FLOAT, 1))
        .isInstanceOf(IllegalStateException.class);
    assertThat(manager.statistics().activeBuffers()).isZero();
  }

  @Test
  void aBlockThatWentBackToTheSystemFailsItsSegments() {
    UnifiedBuffer<float[]> buffer =
        memory().allocate(ElementType.FLOAT, 1000, Allocation.at(MemoryLocation.HOST).unpooled());
    MemorySegment segment = buffer.asSegment();
    segment.set(ValueLayout.JAVA_FLOAT, 0, 1);
    buffer.close();
    eventually("the block is gone", () -> !segment.scope().isAlive());
    assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_FLOAT, 0))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void closingABufferOverTheCallersMemoryLeavesTheMemory() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment mine = arena.allocate(400, 4);
      UnifiedBuffer<float[]> buffer = memory().wrap(ElementType.FLOAT, mine);
      bench().kernel("y = a").execute(dev.tidepool.Arguments.of("a", 2.5, "y", buffer));
      buffer.synchronize();
      buffer.close();
      memory().synchronize();
      assertThat(mine.getAtIndex(ValueLayout.JAVA_FLOAT, 99)).isEqualTo(2.5f);
    }
  }
}
