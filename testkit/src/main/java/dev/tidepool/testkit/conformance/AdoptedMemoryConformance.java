package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * A buffer over memory of another library has the bytes of that memory, writes results back to it,
 * and releases it once, after the last use.
 */
public abstract class AdoptedMemoryConformance extends Topic {
  private static final int LENGTH = 50_021;

  private final AtomicInteger lentReleases = new AtomicInteger();
  private final AtomicInteger closedReleases = new AtomicInteger();
  private Arena arena = Arena.ofShared();
  private ForeignMemory foreign = new ForeignMemory(MemorySegment.NULL);

  @BeforeEach
  final void allocateForeignMemory() {
    arena = Arena.ofShared();
    foreign = new ForeignMemory(arena.allocate(4L * LENGTH, 16));
  }

  @AfterEach
  final void freeForeignMemory() {
    // Closed first, so that no buffer of a failed test uses the memory afterwards.
    memory().close();
    arena.close();
  }

  /** Memory of another library, which counts its releases and copies its contents at the first. */
  private static final class ForeignMemory implements Runnable {
    private final MemorySegment segment;
    private final AtomicInteger releases = new AtomicInteger();
    private volatile float @Nullable [] atRelease;

    ForeignMemory(MemorySegment segment) {
      this.segment = segment;
    }

    NativeHandle handle() {
      return NativeHandle.of(segment);
    }

    @Override
    public void run() {
      if (releases.get() == 0) {
        atRelease = contents(ElementType.FLOAT, segment);
      }
      // Last, because another thread waits for the count before it reads the other fields.
      releases.incrementAndGet();
    }

    int releases() {
      return releases.get();
    }

    void assertReleasedWith(float[] expected) {
      assertThat(releases()).as("releases").isEqualTo(1);
      assertThat(atRelease).as("the memory when it was released").isEqualTo(expected);
    }
  }

  private UnifiedBuffer<float[]> adopt(UnifiedMemoryManager memory) {
    return memory.adopt(ElementType.FLOAT, foreign.handle(), foreign);
  }

  private static float[] filled(float value) {
    float[] values = new float[LENGTH];
    Arrays.fill(values, value);
    return values;
  }

  @Test
  final void theBufferHasTheBytesOfTheMemory() {
    float[] pattern = pattern(LENGTH, 1);
    MemorySegment.copy(pattern, 0, foreign.segment, ValueLayout.JAVA_FLOAT, 0, LENGTH);
    try (UnifiedBuffer<float[]> buffer = adopt(memory())) {
      assertThat(buffer.location()).isEqualTo(MemoryLocation.HOST);
      assertThat(buffer.state()).isEqualTo(BufferState.HOST_ONLY);
      assertThat(buffer.length()).isEqualTo(LENGTH);
      assertThat(buffer.asSegment().address()).isEqualTo(foreign.segment.address());
      Patterns.assertEqual(contents(buffer), pattern, "copied out");
      UnifiedBuffer<float[]> sum = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
      bench().kernel("s = x").execute(Arguments.of("x", buffer, "s", sum));
      Patterns.assertEqual(contents(sum), pattern, "read by a kernel");
      assertThat(foreign.releases()).as("releases while it is in use").isZero();
    }
    foreign.assertReleasedWith(pattern);
  }

  @Test
  final void theProcessorComputesInTheMemoryItself() {
    try (UnifiedBuffer<float[]> buffer = adopt(memory())) {
      bench().kernel("y = a").execute(Arguments.of("a", 5f, "y", buffer));
      if (bench().accelerator().id().startsWith("cpu")) {
        Patterns.assertEqual(
            contents(ElementType.FLOAT, foreign.segment), filled(5), "the memory, without a copy");
        assertThat(buffer.metrics().transfers()).isZero();
      }
    }
    foreign.assertReleasedWith(filled(5));
  }

  @Test
  final void resultsAreInTheMemoryBeforeItIsReleased() {
    UnifiedBuffer<float[]> buffer = adopt(memory());
    buffer.fill((byte) 0);
    Kernel increment = bench().kernel("y = y + 1");
    for (int i = 0; i < 20; i++) {
      increment.executeAsync(Arguments.of("y", buffer));
    }
    buffer.close();
    foreign.assertReleasedWith(filled(20));
    buffer.close();
    assertThat(foreign.releases()).as("releases after a second close").isEqualTo(1);
  }

  @Test
  final void aMappingKeepsTheMemory() {
    UnifiedBuffer<float[]> buffer = adopt(memory());
    buffer.copyFrom(filled(3));
    HostMapping mapping = buffer.map(MapMode.READ);
    buffer.close();
    assertThat(foreign.releases()).as("releases under a mapping").isZero();
    mapping.close();
    foreign.assertReleasedWith(filled(3));
  }

  @Test
  final void closingASliceReleasesNothing() {
    UnifiedBuffer<float[]> buffer = adopt(memory());
    buffer.fill((byte) 0);
    buffer.slice(1, 10).close();
    assertThat(foreign.releases()).isZero();
    buffer.close();
    foreign.assertReleasedWith(new float[LENGTH]);
  }

  @Test
  final void aManagerThatClosesReleasesTheMemory() {
    bench().assumeCompiler();
    UnifiedMemoryManager manager = bench().manager(bench().accelerator(), MemoryOptions.defaults());
    UnifiedBuffer<float[]> buffer = adopt(manager);
    Kernel kernel = manager.compile(KernelSource.elementwise("y = a"));
    kernel.executeAsync(Arguments.of("a", 5f, "y", buffer));
    manager.close();
    foreign.assertReleasedWith(filled(5));
    assertThatIllegalStateException().isThrownBy(() -> adopt(manager));
    assertThat(foreign.releases()).as("releases of what was refused").isEqualTo(1);
  }

  @Test
  final void memoryOfAnUnreachableBufferIsReleased() {
    foreign.segment.fill((byte) 0);
    adoptAndForget();
    eventually(
        "the memory is released",
        () -> {
          System.gc();
          // Allocations and the maintenance thread detect unreachable buffers.
          memory().allocate(ElementType.BYTE, 1).close();
          return foreign.releases() > 0;
        });
    foreign.assertReleasedWith(new float[LENGTH]);
  }

  /** Like Python's deleters, which need a lock that the thread waiting for the release may hold. */
  @Test
  final void aReleaseOfAnUnreachableBufferMayWaitForTheThreadThatClosesTheManager() {
    ReentrantLock lock = new ReentrantLock();
    CountDownLatch waits = new CountDownLatch(1);
    CountDownLatch released = new CountDownLatch(1);
    UnifiedMemoryManager manager = bench().manager(bench().accelerator(), MemoryOptions.defaults());
    lock.lock();
    try {
      adoptAndForget(
          manager,
          () -> {
            waits.countDown();
            lock.lock();
            try {
              released.countDown();
            } finally {
              lock.unlock();
            }
          });
      eventually(
          "the release has begun",
          () -> {
            System.gc();
            manager.allocate(ElementType.BYTE, 1).close();
            return waits.getCount() == 0;
          });
      manager.close();
      assertThat(released.getCount()).isEqualTo(1);
    } finally {
      lock.unlock();
    }
    eventually("the release ends", () -> released.getCount() == 0);
  }

  private void adoptAndForget(UnifiedMemoryManager manager, Runnable release) {
    assertThat(manager.adopt(ElementType.FLOAT, foreign.handle(), release).length())
        .isEqualTo(LENGTH);
  }

  private void adoptAndForget() {
    assertThat(adopt(memory()).length()).isEqualTo(LENGTH);
  }

  @Test
  final void threadsThatCloseTogetherReleaseOnce() throws InterruptedException {
    for (int round = 0; round < 20; round++) {
      ForeignMemory one = new ForeignMemory(foreign.segment);
      UnifiedBuffer<float[]> buffer = memory().adopt(ElementType.FLOAT, one.handle(), one);
      CompletableFuture<Void> copying = buffer.copyFromAsync(filled(round));
      Thread[] closers = new Thread[3];
      for (int i = 0; i < closers.length; i++) {
        closers[i] = Thread.ofPlatform().start(buffer::close);
      }
      for (Thread closer : closers) {
        closer.join();
      }
      copying.join();
      one.assertReleasedWith(filled(round));
    }
  }

  @Test
  final void aReleaseThatFailsDoesNotFailTheClose() {
    UnifiedBuffer<float[]> buffer =
        memory()
            .adopt(
                ElementType.FLOAT,
                foreign.handle(),
                () -> {
                  foreign.run();
                  throw new IllegalStateException("the other library refuses");
                });
    buffer.close();
    assertThat(foreign.releases()).isEqualTo(1);
    assertThat(memory().statistics().activeBuffers()).isZero();
  }

  @Test
  final void aReleaseOfAnotherLanguageMayThrowACheckedException() {
    UnifiedBuffer<float[]> buffer =
        memory()
            .adopt(
                ElementType.FLOAT,
                foreign.handle(),
                () -> {
                  foreign.run();
                  throwAnyway(new IOException("the other library refuses"));
                });
    buffer.close();
    assertThat(foreign.releases()).isEqualTo(1);
    assertThat(memory().statistics().activeBuffers()).isZero();
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // like other languages
  private static <E extends Throwable> void throwAnyway(Throwable failure) throws E {
    throw (E) failure;
  }

  @Test
  final void memoryOfAnUnreachableBufferIsReleasedThoughItsNeighbourIsUsed() {
    try (UnifiedBuffer<float[]> neighbour = memory().allocate(ElementType.FLOAT, 10)) {
      adoptAndForget();
      eventually(
          "the memory is released",
          () -> {
            System.gc();
            return foreign.releases() > 0;
          });
      assertThat(neighbour.length()).isEqualTo(10);
    }
  }

  @Test
  final void aBufferThatIsClosedWhileItIsLentIsReleasedWithTheAccess() throws Exception {
    Thread.ofVirtual()
        .start(
            () -> {
              for (int round = 0; round < 20; round++) {
                ForeignMemory one = new ForeignMemory(foreign.segment);
                UnifiedBuffer<float[]> buffer =
                    memory().adopt(ElementType.FLOAT, one.handle(), one);
                NativeAccess access = memory().lend(NativeUse.readWrite(buffer));
                buffer.close();
                lentReleases.addAndGet(one.releases());
                access.close();
                closedReleases.addAndGet(one.releases());
              }
            })
        .join();
    assertThat(lentReleases).as("releases while it is lent").hasValue(0);
    assertThat(closedReleases).as("releases with the access").hasValue(20);
  }

  @Test
  final void memoryForReadingIsNotWritten() {
    foreign.segment.fill((byte) 0);
    UnifiedBuffer<float[]> buffer =
        memory().adopt(ElementType.FLOAT, foreign.handle(), MapMode.READ, foreign);
    UnifiedBuffer<float[]> twice = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    bench().kernel("y = x + x").execute(Arguments.of("x", buffer, "y", twice));
    assertThat(contents(twice)).isEqualTo(new float[LENGTH]);
    assertThatThrownBy(() -> buffer.copyFrom(filled(1)))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("READ");
    assertThatThrownBy(buffer::asSegment).isInstanceOf(UnsupportedOperationException.class);
    assertThatThrownBy(() -> bench().kernel("y = a").execute(Arguments.of("a", 1f, "y", buffer)))
        .isInstanceOf(UnsupportedOperationException.class);
    assertThat(buffer.asReadOnlySegment().address()).isEqualTo(foreign.segment.address());
    buffer.close();
    foreign.assertReleasedWith(new float[LENGTH]);
  }

  @Test
  final void segmentsEndBeforeTheMemoryDoes() {
    UnifiedBuffer<float[]> buffer = adopt(memory());
    MemorySegment segment = buffer.asSegment();
    assertThat(buffer.asSegment()).isEqualTo(segment);
    MemorySegment mapped;
    try (HostMapping mapping = buffer.map(MapMode.READ_WRITE)) {
      mapped = mapping.segment();
      mapped.setAtIndex(ValueLayout.JAVA_FLOAT, 1, 4);
    }
    segment.setAtIndex(ValueLayout.JAVA_FLOAT, 0, 3);
    buffer.close();
    assertThat(foreign.releases()).isEqualTo(1);
    assertThat(foreign.segment.getAtIndex(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(3);
    for (MemorySegment ended : new MemorySegment[] {segment, mapped}) {
      assertThatIllegalStateException()
          .isThrownBy(() -> ended.getAtIndex(ValueLayout.JAVA_FLOAT, 0));
    }
  }

  @Test
  final void memoryOfNoBytesNeedsNoAddress() {
    AtomicInteger releases = new AtomicInteger();
    memory()
        .adopt(
            ElementType.FLOAT,
            new NativeHandle(NativeKind.HOST_POINTER, 0, 0, 0),
            releases::incrementAndGet)
        .close();
    assertThat(releases).hasValue(1);
  }

  @Test
  final void anOffsetCounts() {
    float[] pattern = pattern(LENGTH, 2);
    MemorySegment.copy(pattern, 0, foreign.segment, ValueLayout.JAVA_FLOAT, 0, LENGTH);
    NativeHandle part =
        new NativeHandle(NativeKind.HOST_POINTER, foreign.segment.address(), 12, 400);
    try (UnifiedBuffer<float[]> buffer = memory().adopt(ElementType.FLOAT, part, foreign)) {
      assertThat(contents(buffer)).isEqualTo(Arrays.copyOfRange(pattern, 3, 103));
    }
    assertThat(foreign.releases()).isEqualTo(1);
  }

  private record Refusal(String name, NativeHandle memory, String says) {}

  @TestFactory
  Stream<DynamicTest> whatCannotBeMemoryIsRefusedAndNotReleased() {
    long address = foreign.segment.address();
    return Stream.of(
            refusal("null", NativeKind.HOST_POINTER, 0, 400, "0x0"),
            refusal("negative", NativeKind.HOST_POINTER, -4096, 400, "0xfffffffffffff000"),
            refusal("past the end", NativeKind.HOST_POINTER, Long.MAX_VALUE - 7, 400, "no memory"),
            refusal(
                "misaligned", NativeKind.HOST_POINTER, address + 2, 400, "not aligned to the 4"),
            refusal("a part", NativeKind.HOST_POINTER, address, 401, "401 bytes are no whole"),
            bench().accelerator().id().startsWith("metal")
                ? refusal("SVM", NativeKind.OPENCL_SVM, address, 400, "OPENCL_SVM")
                : refusal("Metal", NativeKind.METAL_BUFFER, address, 400, "METAL_BUFFER"),
            // An OpenCL driver accepts any handle as one of its own.
            bench().accelerator().id().startsWith("opencl")
                ? refusal("CUDA", NativeKind.CUDA_POINTER, address, 400, "CUDA_POINTER")
                : refusal("OpenCL", NativeKind.OPENCL_BUFFER, address, 400, "OPENCL_BUFFER"))
        .map(
            refusal ->
                DynamicTest.dynamicTest(
                    refusal.name(),
                    () -> {
                      assertThatIllegalArgumentException()
                          .isThrownBy(
                              () -> memory().adopt(ElementType.FLOAT, refusal.memory(), foreign))
                          .withMessageContaining(refusal.says());
                      assertThat(foreign.releases()).isZero();
                      assertThat(memory().statistics().activeBuffers()).isZero();
                    }));
  }

  private static Refusal refusal(
      String name, NativeKind kind, long address, long bytes, String says) {
    return new Refusal(name, new NativeHandle(kind, address, 0, bytes), says);
  }
}
