package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeUse;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.Suspension;
import dev.tidepool.interop.ArrowC;
import dev.tidepool.interop.ArrowColumn;
import dev.tidepool.interop.ArrowExport;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.interop.DLPackTensor;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Buffers are exchanged in the accelerator's memory by DLPack and by Arrow's interface. Both sides
 * are managers of one accelerator.
 */
public abstract class ExchangeConformance extends Topic {
  private static final int LENGTH = 6_000;

  private @Nullable UnifiedMemoryManager opened;

  /** Returns the manager on the other side. */
  private UnifiedMemoryManager consumer() {
    UnifiedMemoryManager consumer = opened;
    if (consumer == null) {
      consumer = bench().manager(bench().accelerator(), MemoryOptions.defaults());
      opened = consumer;
    }
    return consumer;
  }

  private static float[] doubled(float[] values) {
    float[] doubled = values.clone();
    for (int i = 0; i < doubled.length; i++) {
      doubled[i] += doubled[i];
    }
    return doubled;
  }

  private Kernel doubling() {
    bench().assumeCompiler();
    return consumer().compile(KernelSource.elementwise("y = y + y"));
  }

  @TestFactory
  Stream<DynamicTest> aConsumersKernelComputesInTheMemoryOfTheTensor() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          Kernel doubling = doubling();
          DLPackExport export = DLPack.export(buffer, 60, 100);
          try (DLPackTensor tensor = DLPack.open(consumer(), export.handOver())) {
            assertThat(tensor.isAdopted()).isTrue();
            assertThat(tensor.shape()).containsExactly(60, 100);
            TransferStatistics before = consumer().transfers().statistics();
            doubling.execute(Arguments.of("y", tensor.buffer(ElementType.FLOAT)));
            if (!bench().sharesMemory()) {
              assertThat(consumer().transfers().statistics().hostToDeviceBytes())
                  .isEqualTo(before.hostToDeviceBytes());
            }
            assertThat(export.isReleased()).isFalse();
          }
          assertThat(export.isReleased()).isTrue();
          Patterns.assertEqual(contents(buffer), doubled(pattern(LENGTH, 1)), "contents");
        });
  }

  @TestFactory
  Stream<DynamicTest> aColumnIsTheBuffersMemory() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 2);
          Kernel doubling = doubling();
          try (ArrowExport export = ArrowC.exportDevice(buffer)) {
            try (ArrowColumn column =
                ArrowC.openDevice(consumer(), export.array(), export.schema())) {
              assertThat(column.nullCount()).isZero();
              doubling.execute(Arguments.of("y", column.buffer(ElementType.FLOAT)));
              assertThat(export.isReleased()).isFalse();
            }
            assertThat(export.isReleased()).isTrue();
          }
          Patterns.assertEqual(contents(buffer), doubled(pattern(LENGTH, 2)), "contents");
        });
  }

  @TestFactory
  Stream<DynamicTest> aSliceIsItsRange() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 3);
          UnifiedBuffer<float[]> slice = buffer.slice(1_024, 1_000);
          try (DLPackTensor tensor = DLPack.open(consumer(), DLPack.export(slice).handOver())) {
            tensor.buffer(ElementType.FLOAT).fill(new float[] {7});
          }
          try (ArrowExport export = ArrowC.exportDevice(buffer.slice(4_096, 10));
              ArrowColumn column = ArrowC.openDevice(consumer(), export.array(), export.schema())) {
            column.buffer(ElementType.FLOAT).fill(new float[] {8});
          }
          float[] expected = pattern(LENGTH, 3);
          Arrays.fill(expected, 1_024, 2_024, 7);
          Arrays.fill(expected, 4_096, 4_106, 8);
          Patterns.assertEqual(contents(buffer), expected, "contents");
        });
  }

  @TestFactory
  Stream<DynamicTest> whatHasNoElementsIsExportedWhereverItBegins() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 3);
          UnifiedBuffer<float[]> none = buffer(ElementType.FLOAT, 0, location);
          for (UnifiedBuffer<float[]> empty :
              List.of(none, buffer.slice(0, 0), buffer.slice(32, 0), buffer.slice(5, 0))) {
            try (DLPackTensor tensor = DLPack.open(consumer(), DLPack.export(empty).handOver());
                ArrowExport export = ArrowC.exportDevice(empty);
                ArrowColumn column =
                    ArrowC.openDevice(consumer(), export.array(), export.schema())) {
              assertThat(tensor.shape()).containsExactly(0);
              assertThat(column.buffer().length()).isZero();
            }
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> theMemoryOutlivesTheBufferUntilTheDeleterIsCalled() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 4);
          DLPackExport export = DLPack.export(buffer);
          buffer.close();
          DLPackTensor tensor = DLPack.open(consumer(), export.handOver());
          Patterns.assertEqual(
              contents(tensor.buffer(ElementType.FLOAT)), pattern(LENGTH, 4), "contents");
          tensor.close();
          assertThat(export.isReleased()).isTrue();
          memory().synchronize();
          assertThat(memory().statistics().activeBuffers()).isZero();
        });
  }

  @Test
  final void whatWasAskedForBeforeHasEnded() {
    UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    buffer.fill((byte) 0);
    Kernel next = bench().kernel("y = y + 1");
    for (int i = 0; i < 20; i++) {
      next.executeAsync(Arguments.of("y", buffer));
    }
    try (DLPackTensor tensor = DLPack.open(consumer(), DLPack.export(buffer).handOver())) {
      assertThat(contents(tensor.buffer(ElementType.FLOAT))).containsOnly(20);
    }
  }

  @Test
  final void theConsumerSeesWhatTheOtherSideWroteAfterSynchronize() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 5);
    try (DLPackTensor tensor = DLPack.open(consumer(), DLPack.export(buffer).handOver())) {
      buffer.copyFrom(pattern(LENGTH, 6));
      if (!bench().sharesMemory()) {
        buffer.asSegment().setAtIndex(ValueLayout.JAVA_FLOAT, 3, 3);
      }
      buffer.synchronize();
      float[] expected = contents(buffer);
      Patterns.assertEqual(
          contents(tensor.buffer(ElementType.FLOAT)), expected, "seen by the consumer");
    }
  }

  @Test
  final void whatIsExportedFromTheDeviceStaysThere() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 7);
    try (DLPackExport _ = DLPack.export(buffer)) {
      assertThat(memory().suspend().movedBytes()).isZero();
      if (!bench().sharesMemory()) {
        assertThat(memory().suspend().leftBytes())
            .isEqualTo(Map.of(Suspension.Reason.LENT, 4L * LENGTH));
      }
    }
    if (!bench().sharesMemory()) {
      assertThat(memory().suspend().movedBytes()).isEqualTo(4L * LENGTH);
    }
    Patterns.assertEqual(contents(buffer), pattern(LENGTH, 7), "contents");
  }

  @Test
  final void aConsumerMustNotWriteAReadOnlyTensor() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 8);
    try (DLPackTensor tensor = DLPack.open(consumer(), DLPack.exportReadOnly(buffer).handOver())) {
      assertThat(tensor.isReadOnly()).isTrue();
      assertThatThrownBy(() -> tensor.buffer(ElementType.FLOAT).fill((byte) 0))
          .isInstanceOf(UnsupportedOperationException.class);
      Patterns.assertEqual(
          contents(tensor.buffer(ElementType.FLOAT)), pattern(LENGTH, 8), "contents");
    }
  }

  @Test
  final void aTransposedTensorIsCopied() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 9);
    DLPackExport export = DLPack.export(buffer, 60, 100);
    transpose(export.address());
    UnifiedBuffer<float[]> copy = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    try (DLPackTensor tensor = DLPack.open(consumer(), export.handOver())) {
      assertThat(tensor.shape()).containsExactly(100, 60);
      tensor.copyTo(copy);
    }
    float[] source = pattern(LENGTH, 9);
    float[] expected = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      expected[i] = source[i % 60 * 100 + i / 60];
    }
    Patterns.assertEqual(contents(copy), expected, "contents");
  }

  /** Swaps the two numbers of the shape, and those of the strides. */
  private static void transpose(long tensor) {
    MemorySegment struct = MemorySegment.ofAddress(tensor).reinterpret(80);
    for (int at : new int[] {56, 64}) {
      MemorySegment numbers =
          MemorySegment.ofAddress(struct.get(ValueLayout.JAVA_LONG, at)).reinterpret(16);
      long first = numbers.get(ValueLayout.JAVA_LONG, 0);
      numbers.set(ValueLayout.JAVA_LONG, 0, numbers.get(ValueLayout.JAVA_LONG, 8));
      numbers.set(ValueLayout.JAVA_LONG, 8, first);
    }
  }

  @Test
  final void aTensorIsCopiedToABufferOfTheDevice() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 10);
    UnifiedBuffer<float[]> copy = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    try (DLPackTensor tensor = DLPack.open(consumer(), DLPack.export(buffer).handOver())) {
      tensor.copyTo(copy);
    }
    Patterns.assertEqual(contents(copy), pattern(LENGTH, 10), "contents");
  }

  @Test
  final void aTensorOfADeviceIsNoMemoryOfTheProcessor() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 11);
    Accelerator processor = bench().tidepool().accelerator("cpu:0");
    try (UnifiedMemoryManager cpu = bench().manager(processor, MemoryOptions.defaults())) {
      DLPackExport export = DLPack.export(buffer);
      if (bench().sharesMemory()) {
        try (DLPackTensor tensor = DLPack.open(cpu, export.handOver())) {
          assertThat(contents(tensor.buffer(ElementType.FLOAT))).isEqualTo(pattern(LENGTH, 11));
        }
      } else {
        long address = export.handOver();
        assertThatIllegalArgumentException()
            .isThrownBy(() -> DLPack.open(cpu, address))
            .withMessageContaining("cpu:0");
      }
      assertThat(export.isReleased()).isTrue();
    }
  }

  @Test
  final void whatOthersHaveIsNotExportedFromTheDevice() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 12);
    if (bench().sharesMemory()) {
      return;
    }
    try (HostMapping _ = buffer.map(MapMode.READ_WRITE)) {
      assertThatIllegalStateException()
          .isThrownBy(() -> DLPack.export(buffer))
          .withMessageContaining("mapped");
    }
    try (NativeAccess _ = memory().lend(NativeUse.read(buffer))) {
      assertThatIllegalStateException()
          .isThrownBy(() -> DLPack.export(buffer))
          .withMessageContaining("lent");
    }
    DLPack.export(buffer).close();
    assertThat(memory().suspend().movedBytes()).isEqualTo(4L * LENGTH);
    buffer.close();
    assertThatIllegalStateException().isThrownBy(() -> DLPack.export(buffer));
  }
}
