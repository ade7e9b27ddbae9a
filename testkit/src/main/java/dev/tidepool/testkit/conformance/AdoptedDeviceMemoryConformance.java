package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.Suspension;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * A buffer over device memory that other code allocated has the bytes of that memory, writes
 * results to it, and releases it once, after the last use. The other code is another manager, which
 * lends a buffer and does not use it meanwhile.
 */
public abstract class AdoptedDeviceMemoryConformance extends Topic {
  private static final int LENGTH = 50_021;

  /** Device memory that another manager owns. */
  private static final class ForeignMemory implements Runnable {
    private final UnifiedBuffer<float[]> source;
    private final NativeAccess access;
    private final AtomicInteger releases = new AtomicInteger();

    ForeignMemory(UnifiedBuffer<float[]> source, NativeAccess access) {
      this.source = source;
      this.access = access;
    }

    NativeHandle handle() {
      return access.handle(source);
    }

    @Override
    public void run() {
      releases.incrementAndGet();
    }

    int releases() {
      return releases.get();
    }

    void assertReleasedWith(float[] expected) {
      assertThat(releases()).as("releases").isEqualTo(1);
      access.close();
      Patterns.assertEqual(contents(source), expected, "the memory when it was released");
    }
  }

  private interface KindTest {
    void run(ForeignMemory foreign);
  }

  /** Runs a test for each kind of handle that the device supports; there may be none. */
  private Stream<DynamicTest> withEachKind(KindTest test) {
    return Stream.of(
            NativeKind.CUDA_POINTER,
            NativeKind.OPENCL_BUFFER,
            NativeKind.OPENCL_SVM,
            NativeKind.METAL_BUFFER)
        .map(kind -> DynamicTest.dynamicTest(kind.name(), () -> run(kind, test)));
  }

  private void run(NativeKind kind, KindTest test) {
    try (UnifiedMemoryManager owner =
        bench().manager(bench().accelerator(), MemoryOptions.defaults())) {
      test.run(allocate(owner, kind));
    }
  }

  private static ForeignMemory allocate(UnifiedMemoryManager owner, NativeKind kind) {
    UnifiedBuffer<float[]> source =
        owner.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    source.copyFrom(pattern(LENGTH, 1));
    try {
      return new ForeignMemory(source, owner.lend(NativeUse.readWrite(source).as(kind)));
    } catch (UnsupportedOperationException none) {
      source.close();
      return Assumptions.abort(String.valueOf(none.getMessage()));
    }
  }

  private UnifiedBuffer<float[]> adopt(ForeignMemory foreign) {
    return memory().adopt(ElementType.FLOAT, foreign.handle(), foreign);
  }

  private static float[] filled(float value) {
    float[] values = new float[LENGTH];
    Arrays.fill(values, value);
    return values;
  }

  @TestFactory
  Stream<DynamicTest> theBufferHasTheBytesOfTheMemory() {
    return withEachKind(
        foreign -> {
          try (UnifiedBuffer<float[]> buffer = adopt(foreign)) {
            assertThat(buffer.location()).isEqualTo(MemoryLocation.DEVICE);
            assertThat(buffer.state()).isEqualTo(BufferState.DEVICE_ONLY);
            assertThat(buffer.length()).isEqualTo(LENGTH);
            UnifiedBuffer<float[]> sum = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
            TransferStatistics before = bench().moved();
            bench().kernel("s = x + x").execute(Arguments.of("x", buffer, "s", sum));
            assertThat(bench().moved().hostToDeviceBytes()).isEqualTo(before.hostToDeviceBytes());
            assertThat(bench().moved().deviceToHostBytes()).isEqualTo(before.deviceToHostBytes());
            float[] twice = pattern(LENGTH, 1);
            for (int i = 0; i < LENGTH; i++) {
              twice[i] += twice[i];
            }
            Patterns.assertEqual(contents(sum), twice, "read by a kernel");
            Patterns.assertEqual(contents(buffer), pattern(LENGTH, 1), "copied out");
            assertThat(foreign.releases()).as("releases while it is in use").isZero();
          }
          foreign.assertReleasedWith(pattern(LENGTH, 1));
        });
  }

  @TestFactory
  Stream<DynamicTest> resultsAreInTheMemoryBeforeItIsReleased() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          buffer.fill((byte) 0);
          Kernel increment = bench().kernel("y = y + 1");
          for (int i = 0; i < 20; i++) {
            increment.executeAsync(Arguments.of("y", buffer));
          }
          buffer.close();
          foreign.assertReleasedWith(filled(20));
          buffer.close();
          assertThat(foreign.releases()).as("releases after a second close").isEqualTo(1);
        });
  }

  @TestFactory
  Stream<DynamicTest> whatTheHostWroteIsInTheMemoryBeforeItIsReleased() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          float[] expected = contents(buffer);
          buffer.asSegment().setAtIndex(ValueLayout.JAVA_FLOAT, 7, 7);
          try (HostMapping mapping = buffer.slice(LENGTH - 1, 1).map(MapMode.READ_WRITE)) {
            mapping.segment().setAtIndex(ValueLayout.JAVA_FLOAT, 0, 9);
          }
          buffer.close();
          expected[7] = 7;
          expected[LENGTH - 1] = 9;
          foreign.assertReleasedWith(expected);
        });
  }

  @TestFactory
  Stream<DynamicTest> whatTheHostWritesAfterTheManagerWasSynchronizedCounts() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          float[] expected = contents(buffer);
          for (int i = 1; i <= 3; i++) {
            buffer.asSegment().setAtIndex(ValueLayout.JAVA_FLOAT, 7, i);
            expected[7] = i;
            assertKernelReads(buffer, expected);
            buffer.asSegment().setAtIndex(ValueLayout.JAVA_FLOAT, 7, -i);
            memory().synchronize();
          }
          expected[7] = -3;
          buffer.close();
          foreign.assertReleasedWith(expected);
        });
  }

  @TestFactory
  Stream<DynamicTest> whatIsWrittenUnderAMappingAfterTheManagerWasSynchronizedCounts() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          float[] expected = contents(buffer);
          try (HostMapping mapping = buffer.map(MapMode.READ_WRITE)) {
            mapping.segment().setAtIndex(ValueLayout.JAVA_FLOAT, 0, 1);
            memory().synchronize();
            mapping.segment().setAtIndex(ValueLayout.JAVA_FLOAT, LENGTH - 1, 2);
          }
          expected[0] = 1;
          expected[LENGTH - 1] = 2;
          assertKernelReads(buffer, expected);
          buffer.close();
          foreign.assertReleasedWith(expected);
        });
  }

  private void assertKernelReads(UnifiedBuffer<float[]> buffer, float[] expected) {
    UnifiedBuffer<float[]> seen = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    bench().kernel("s = x").execute(Arguments.of("x", buffer, "s", seen));
    Patterns.assertEqual(contents(seen), expected, "read by a kernel");
    seen.close();
  }

  @TestFactory
  Stream<DynamicTest> aSegmentOfTheMemoryItselfEndsWithTheBuffer() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          MemorySegment segment = buffer.asSegment();
          segment.setAtIndex(ValueLayout.JAVA_FLOAT, 1, 5);
          buffer.close();
          if (foreign.handle().kind() == NativeKind.OPENCL_SVM) {
            assertThatThrownBy(() -> segment.getAtIndex(ValueLayout.JAVA_FLOAT, 1))
                .isInstanceOf(IllegalStateException.class);
          }
          float[] expected = pattern(LENGTH, 1);
          expected[1] = 5;
          foreign.assertReleasedWith(expected);
        });
  }

  @TestFactory
  Stream<DynamicTest> partsAndCopiesReachTheSameMemory() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          UnifiedBuffer<float[]> own = patterned(LENGTH, MemoryLocation.DEVICE, 4);
          buffer.copyFrom(own);
          bench().kernel("y = a").execute(Arguments.of("a", 3f, "y", buffer.slice(100, 50)));
          own.copyFrom(buffer);
          float[] expected = pattern(LENGTH, 4);
          Arrays.fill(expected, 100, 150, 3);
          Patterns.assertEqual(contents(own), expected, "copied to a buffer of the manager");
          buffer.close();
          foreign.assertReleasedWith(expected);
        });
  }

  @TestFactory
  Stream<DynamicTest> anOffsetCounts() {
    return withEachKind(
        foreign -> {
          NativeHandle all = foreign.handle();
          NativeHandle part =
              new NativeHandle(all.kind(), all.value(), all.offset() + 12, 4L * 1_000);
          try (UnifiedBuffer<float[]> buffer = memory().adopt(ElementType.FLOAT, part, foreign)) {
            assertThat(contents(buffer))
                .isEqualTo(Arrays.copyOfRange(pattern(LENGTH, 1), 3, 1_003));
            bench().kernel("y = a").execute(Arguments.of("a", 2f, "y", buffer.slice(1, 998)));
            buffer.copyFrom(new float[] {-1}, 0, 999, 1);
          }
          float[] expected = pattern(LENGTH, 1);
          Arrays.fill(expected, 4, 1_002, 2);
          expected[1_002] = -1;
          foreign.assertReleasedWith(expected);
        });
  }

  @TestFactory
  Stream<DynamicTest> theMemoryStaysWhereItIsAndIsLentFromThere() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          buffer.copyFrom(pattern(LENGTH, 5));
          Suspension suspension = memory().suspend();
          assertThat(suspension.movedBytes()).isZero();
          if (!bench().sharesMemory() && foreign.handle().kind() != NativeKind.OPENCL_SVM) {
            assertThat(suspension.leftBytes())
                .isEqualTo(Map.of(Suspension.Reason.ADOPTED, 4L * LENGTH));
          }
          memory().defragment();
          NativeKind kind = foreign.handle().kind();
          try (NativeAccess access = memory().lend(NativeUse.read(buffer).as(kind))) {
            assertThat(access.handle(buffer).value()).isEqualTo(foreign.handle().value());
            assertThat(access.handle(buffer).offset()).isEqualTo(foreign.handle().offset());
          }
          buffer.close();
          foreign.assertReleasedWith(pattern(LENGTH, 5));
        });
  }

  @TestFactory
  Stream<DynamicTest> aMappingKeepsTheMemory() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          buffer.copyFrom(filled(3));
          HostMapping mapping = buffer.map(MapMode.READ);
          buffer.close();
          assertThat(foreign.releases()).as("releases under a mapping").isZero();
          mapping.close();
          eventually("the memory is released", () -> foreign.releases() > 0);
          foreign.assertReleasedWith(filled(3));
        });
  }

  @TestFactory
  Stream<DynamicTest> whatIsWrittenUnderAMappingAfterTheCloseIsInTheMemoryBeforeItIsReleased() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          float[] expected = contents(buffer);
          HostMapping mapping = buffer.map(MapMode.READ_WRITE);
          mapping.segment().setAtIndex(ValueLayout.JAVA_FLOAT, 0, 1);
          buffer.close();
          mapping.segment().setAtIndex(ValueLayout.JAVA_FLOAT, LENGTH - 1, 2);
          assertThat(foreign.releases()).as("releases under a mapping").isZero();
          mapping.close();
          eventually("the memory is released", () -> foreign.releases() > 0);
          expected[0] = 1;
          expected[LENGTH - 1] = 2;
          foreign.assertReleasedWith(expected);
        });
  }

  @TestFactory
  Stream<DynamicTest> whatTheConsumerOfAnExportWritesBeforeTheDeleterIsInTheMemory() {
    return withEachKind(
        foreign -> {
          for (boolean closesManager : new boolean[] {false, true}) {
            foreign.releases.set(0);
            UnifiedMemoryManager manager =
                bench().manager(bench().accelerator(), MemoryOptions.defaults());
            UnifiedBuffer<float[]> buffer =
                manager.adopt(ElementType.FLOAT, foreign.handle(), foreign);
            buffer.copyFrom(filled(3));
            DLPackExport export = DLPack.exportHost(buffer);
            MemorySegment seen = data(export);
            seen.setAtIndex(ValueLayout.JAVA_FLOAT, 0, 1);
            buffer.close();
            if (closesManager) {
              manager.close();
            }
            assertThat(foreign.releases()).as("releases before the deleter").isZero();
            seen.setAtIndex(ValueLayout.JAVA_FLOAT, LENGTH - 1, 2);
            export.close();
            eventually("the memory is released", () -> foreign.releases() > 0);
            manager.close();
          }
          float[] expected = filled(3);
          expected[0] = 1;
          expected[LENGTH - 1] = 2;
          foreign.assertReleasedWith(expected);
        });
  }

  /** Returns the bytes of a host tensor. */
  private static MemorySegment data(DLPackExport export) {
    long data =
        MemorySegment.ofAddress(export.address()).reinterpret(40).get(ValueLayout.JAVA_LONG, 32);
    return MemorySegment.ofAddress(data).reinterpret(4L * LENGTH);
  }

  @TestFactory
  Stream<DynamicTest> aKernelComputesInAViewThatBeginsWithinAnElement() {
    return withEachKind(
        foreign -> {
          NativeHandle all = foreign.handle();
          NativeHandle part = new NativeHandle(all.kind(), all.value(), all.offset() + 5, 4_003);
          Kernel kernel = bench().kernel("y = x + y");
          try (UnifiedBuffer<byte[]> buffer = memory().adopt(ElementType.BYTE, part, foreign)) {
            buffer.fill((byte) 0);
            // One of the views begins at byte 8, where an element may begin.
            for (int from : new int[] {0, 3}) {
              UnifiedBuffer<float[]> view = buffer.slice(from, 4_000).as(ElementType.FLOAT);
              view.copyFrom(Arrays.copyOf(filled(3), 1_000));
              kernel.execute(Arguments.of("x", view.slice(1, 999), "y", view.slice(0, 999)));
              float[] expected = Arrays.copyOf(filled(6), 1_000);
              expected[999] = 3;
              Patterns.assertEqual(contents(view), expected, "the view at byte " + from);
            }
          }
          assertThat(foreign.releases()).isEqualTo(1);
          foreign.access.close();
        });
  }

  @TestFactory
  Stream<DynamicTest> aManagerThatClosesReleasesTheMemory() {
    return withEachKind(
        foreign -> {
          UnifiedMemoryManager manager =
              bench().manager(bench().accelerator(), MemoryOptions.defaults());
          UnifiedBuffer<float[]> buffer =
              manager.adopt(ElementType.FLOAT, foreign.handle(), foreign);
          var _ = buffer.copyFromAsync(filled(6));
          manager.close();
          foreign.assertReleasedWith(filled(6));
        });
  }

  @TestFactory
  Stream<DynamicTest> memoryOfAnUnreachableBufferIsReleased() {
    return withEachKind(
        foreign -> {
          adoptAndForget(foreign);
          eventually(
              "the memory is released",
              () -> {
                System.gc();
                // Allocations and the maintenance thread detect unreachable buffers.
                memory().allocate(ElementType.BYTE, 1).close();
                return foreign.releases() > 0;
              });
          foreign.assertReleasedWith(pattern(LENGTH, 1));
        });
  }

  private void adoptAndForget(ForeignMemory foreign) {
    assertThat(adopt(foreign).length()).isEqualTo(LENGTH);
  }

  @TestFactory
  Stream<DynamicTest> threadsThatCloseTogetherReleaseOnce() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer = adopt(foreign);
          var copying = buffer.copyFromAsync(filled(8));
          inThreads(3, thread -> buffer.close());
          copying.join();
          foreign.assertReleasedWith(filled(8));
        });
  }

  @TestFactory
  Stream<DynamicTest> memoryForReadingIsNotWritten() {
    return withEachKind(
        foreign -> {
          UnifiedBuffer<float[]> buffer =
              memory().adopt(ElementType.FLOAT, foreign.handle(), MapMode.READ, foreign);
          assertThatThrownBy(() -> buffer.copyFrom(filled(1)))
              .isInstanceOf(UnsupportedOperationException.class)
              .hasMessageContaining("READ");
          assertThat(contents(buffer)).isEqualTo(pattern(LENGTH, 1));
          buffer.close();
          foreign.assertReleasedWith(pattern(LENGTH, 1));
        });
  }

  @TestFactory
  Stream<DynamicTest> whatCannotBeThereIsRefusedAndNotReleased() {
    return withEachKind(
        foreign -> {
          NativeHandle all = foreign.handle();
          if (all.kind() != NativeKind.OPENCL_SVM) {
            // OpenCL does not report the size of shared virtual memory.
            long much = 1L << 40;
            assertThatIllegalArgumentException()
                .isThrownBy(() -> adoptPart(foreign, all.offset(), much));
          }
          assertThatIllegalArgumentException()
              .isThrownBy(() -> adoptPart(foreign, all.offset() + 2, 400))
              .withMessageContaining("not aligned to the 4");
          assertThatIllegalArgumentException()
              .isThrownBy(() -> adoptPart(foreign, all.offset(), 401))
              .withMessageContaining("no whole");
          assertThatIllegalArgumentException()
              .isThrownBy(() -> adoptPart(foreign, Long.MAX_VALUE, 400))
              .withMessageContaining("no memory");
          assertThatIllegalArgumentException()
              .isThrownBy(
                  () ->
                      memory()
                          .adopt(
                              ElementType.FLOAT, new NativeHandle(all.kind(), 0, 0, 400), foreign));
          assertThat(foreign.releases()).isZero();
          assertThat(memory().statistics().activeBuffers()).isZero();
        });
  }

  private void adoptPart(ForeignMemory foreign, long offset, long bytes) {
    NativeHandle all = foreign.handle();
    memory()
        .adopt(
            ElementType.FLOAT, new NativeHandle(all.kind(), all.value(), offset, bytes), foreign);
  }
}
