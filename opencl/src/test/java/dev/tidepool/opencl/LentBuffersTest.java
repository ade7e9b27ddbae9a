package dev.tidepool.opencl;

import static dev.tidepool.opencl.OpenClLibrary.HANDLE;
import static dev.tidepool.opencl.OpenClLibrary.POINTER;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.interop.ArrowC;
import dev.tidepool.interop.ArrowExport;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Commands that other code submits to OpenCL over buffers that it was lent. */
@ExtendWith(NothingLeaks.class)
class LentBuffersTest {
  private static final int LENGTH = 1_024;
  private static final long OUT_OF_ORDER = 1;

  private static final MethodHandle CREATE_QUEUE =
      OpenCL.LIBRARY.handle("clCreateCommandQueue", HANDLE, HANDLE, JAVA_LONG, POINTER);

  /** A queue of other code. */
  private static long queue(long context, long device, long properties) {
    return NativeCall.create(
        "clCreateCommandQueue",
        ObjectKind.QUEUE,
        error -> (long) CREATE_QUEUE.invokeExact(context, device, properties, error));
  }

  /** What another library does: it sets all bytes of a memory object, on a queue. */
  private static void set(long queue, NativeHandle handle, int value) {
    assertThat(handle.kind()).isEqualTo(NativeKind.OPENCL_BUFFER);
    OpenCL.clReleaseEvent(
        OpenCL.clEnqueueFillBuffer(
            queue, handle.value(), (byte) value, handle.offset(), handle.byteSize()));
    OpenCL.clFlush(queue);
  }

  private static byte valueOf(UnifiedBuffer<byte[]> buffer) {
    byte[] values = new byte[Math.toIntExact(buffer.length())];
    buffer.copyTo(values);
    assertThat(values).containsOnly(values[0]);
    return values[0];
  }

  private static UnifiedMemoryManager memory(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("opencl:0"));
  }

  private static UnifiedBuffer<byte[]> filled(UnifiedMemoryManager memory, int value) {
    UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, LENGTH, MemoryLocation.DEVICE);
    buffer.fill(new byte[] {(byte) value});
    return buffer;
  }

  static Stream<Long> queues() {
    return Stream.of(0L, OUT_OF_ORDER);
  }

  @ParameterizedTest
  @EnumSource(MemoryMode.class)
  void commandsOnTheLentQueueComeBetweenKernels(MemoryMode mode) {
    try (Tidepool tidepool = OpenClConformance.open(mode)) {
      UnifiedMemoryManager memory = memory(tidepool);
      UnifiedBuffer<byte[]> x = filled(memory, 1);
      UnifiedBuffer<byte[]> y = filled(memory, 1);
      Kernel copy = memory.compile(KernelSource.elementwise("y = x"));
      for (int round = 1; round <= 20; round++) {
        copy.executeAsync(Arguments.of("x", y, "y", x));
        try (NativeAccess access = memory.lend(NativeUse.write(x).as(NativeKind.OPENCL_BUFFER))) {
          assertThat(access.handle(x).offset()).isZero();
          set(access.queue(), access.handle(x), 10 + round);
        }
        copy.executeAsync(Arguments.of("x", x, "y", y));
        assertThat(valueOf(y)).isEqualTo((byte) (10 + round));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("queues")
  void commandsOnAForeignQueueComeBetweenKernels(long properties) {
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.DISCRETE)) {
      UnifiedMemoryManager memory = memory(tidepool);
      UnifiedBuffer<byte[]> x = filled(memory, 1);
      UnifiedBuffer<byte[]> y = filled(memory, 1);
      long queue = onDevice(memory, x, (context, device) -> queue(context, device, properties));
      Kernel copy = memory.compile(KernelSource.elementwise("y = x"));
      for (int round = 1; round <= 50; round++) {
        copy.executeAsync(Arguments.of("x", y, "y", x));
        try (NativeAccess access = memory.lendOn(queue, NativeUse.write(x))) {
          assertThat(access.queue()).isEqualTo(queue);
          set(queue, access.handle(x), 10 + round);
        }
        copy.executeAsync(Arguments.of("x", x, "y", y));
        assertThat(valueOf(y)).isEqualTo((byte) (10 + round));
      }
      OpenCL.clReleaseCommandQueue(queue);
    }
  }

  /** Makes something with the handles of a context and a device. */
  private interface OfDevice {
    long make(long context, long device);
  }

  private static long onDevice(
      UnifiedMemoryManager memory, UnifiedBuffer<?> buffer, OfDevice made) {
    try (NativeAccess access = memory.lend(NativeUse.read(buffer))) {
      return made.make(access.context(), access.device());
    }
  }

  @Test
  void aSliceIsAMemoryObjectWhereTheAlignmentAllows() {
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.DISCRETE)) {
      UnifiedMemoryManager memory = memory(tidepool);
      UnifiedBuffer<byte[]> whole = filled(memory, 1);
      UnifiedBuffer<byte[]> slice = whole.slice(256, 128);
      try (NativeAccess access = memory.lend(NativeUse.write(slice).as(NativeKind.OPENCL_BUFFER))) {
        NativeHandle handle = access.handle(slice);
        assertThat(handle.offset()).isZero();
        assertThat(handle.byteSize()).isEqualTo(128);
        set(access.queue(), handle, 7);
      }
      byte[] values = new byte[LENGTH];
      whole.copyTo(values);
      for (int i = 0; i < LENGTH; i++) {
        assertThat(values[i]).as("byte %d", i).isEqualTo((byte) (i >= 256 && i < 384 ? 7 : 1));
      }
      UnifiedBuffer<byte[]> odd = whole.slice(4, 64);
      assertThatThrownBy(() -> memory.lend(NativeUse.write(odd).as(NativeKind.OPENCL_BUFFER)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("multiple of")
          .hasMessageContaining("slice at such bytes");
      try (NativeAccess access = memory.lend(NativeUse.write(odd))) {
        set(access.queue(), access.handle(odd), 9);
      }
      assertThat(valueOf(odd)).isEqualTo((byte) 9);
    }
  }

  @Test
  void whatABlockIsNotIsRefused() {
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.DISCRETE)) {
      UnifiedMemoryManager memory = memory(tidepool);
      UnifiedBuffer<byte[]> x = filled(memory, 1);
      for (NativeKind kind : new NativeKind[] {NativeKind.OPENCL_SVM, NativeKind.CUDA_POINTER}) {
        assertThatThrownBy(() -> memory.lend(NativeUse.read(x).as(kind)))
            .isInstanceOf(UnsupportedOperationException.class)
            .hasMessageContaining(kind.name());
      }
      UnifiedBuffer<byte[]> none = memory.allocate(ElementType.BYTE, 0);
      assertThatThrownBy(() -> memory.lend(NativeUse.read(none).as(NativeKind.OPENCL_BUFFER)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("0 bytes");
      assertThatThrownBy(() -> memory.lendOn(0, NativeUse.read(x)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("cl_command_queue");
      assertThat(valueOf(x)).isEqualTo((byte) 1);
    }
  }

  @Test
  void sharedPointersAreAddresses() {
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.FINE_SHARED_POINTERS)) {
      UnifiedMemoryManager memory = memory(tidepool);
      UnifiedBuffer<byte[]> x = filled(memory, 1);
      UnifiedBuffer<byte[]> slice = x.slice(3, 17);
      LongUnaryOperator addressOf =
          from -> {
            UnifiedBuffer<byte[]> lent = from == 0 ? x : slice;
            try (NativeAccess access = memory.lend(NativeUse.readWrite(lent))) {
              assertThat(access.handle(lent).kind()).isEqualTo(NativeKind.OPENCL_SVM);
              access.handle(lent).segment().fill((byte) 5);
              return access.handle(lent).address();
            }
          };
      assertThat(addressOf.applyAsLong(3) - addressOf.applyAsLong(0)).isEqualTo(3);
      assertThat(valueOf(x)).isEqualTo((byte) 5);
    }
  }

  @Test
  void queuesOfAnotherContextAreRefused() {
    try (Tidepool tidepool = OpenClConformance.open(MemoryMode.DISCRETE)) {
      UnifiedMemoryManager memory = memory(tidepool);
      UnifiedBuffer<byte[]> x = filled(memory, 1);
      OpenClDevice device = (OpenClDevice) Pocl.device(Map.of());
      long other = Pocl.anotherContext(device.deviceHandle());
      long queue = queue(other, device.deviceHandle(), 0);
      assertThatThrownBy(() -> memory.lendOn(queue, NativeUse.read(x)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another context");
      OpenCL.clReleaseCommandQueue(queue);
      OpenCL.clReleaseContext(other);
      device.close();
      assertThat(valueOf(x)).isEqualTo((byte) 1);
    }
  }

  /** OpenCL has no memory object of 0 bytes, and makes none at any byte. */
  @ParameterizedTest
  @EnumSource(names = {"DISCRETE", "DISCRETE_COARSE"})
  void whatHasNoElementsIsExportedWhereverItBegins(MemoryMode mode) {
    try (Tidepool tidepool = OpenClConformance.open(mode)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("opencl:0"));
      try (UnifiedBuffer<float[]> none =
              memory.allocate(ElementType.FLOAT, 0, MemoryLocation.UNIFIED);
          UnifiedBuffer<float[]> buffer =
              memory.allocate(ElementType.FLOAT, 100, MemoryLocation.UNIFIED)) {
        for (UnifiedBuffer<float[]> empty :
            List.of(none, buffer.slice(0, 0), buffer.slice(32, 0), buffer.slice(5, 0))) {
          try (DLPackExport tensor = DLPack.export(empty);
              ArrowExport column = ArrowC.exportDevice(empty)) {
            assertThat(tensor.isReleased() || column.isReleased()).isFalse();
          }
        }
      }
    }
  }
}
