package dev.tidepool.cuda;

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
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Commands that other code submits to CUDA over buffers that it was lent. */
@ExtendWith(NothingLeaks.class)
class LentBuffersTest {
  private static final int LENGTH = 1_000;

  /** What another library does: it sets all words, on a stream. */
  private static void set(NativeAccess access, long stream, NativeHandle handle, int word) {
    Cuda.cuCtxPushCurrent(access.context());
    try {
      Cuda.cuMemsetD32Async(handle.address(), word, handle.byteSize() / Integer.BYTES, stream);
    } finally {
      var _ = Cuda.cuCtxPopCurrent();
    }
  }

  private static int valueOf(UnifiedBuffer<int[]> buffer) {
    int[] values = new int[LENGTH];
    buffer.copyTo(values);
    assertThat(values).containsOnly(values[0]);
    return values[0];
  }

  private static UnifiedMemoryManager memory(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("cuda:0"));
  }

  @Test
  void commandsOnTheLentStreamComeBetweenKernels() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.setAll("latency_ns", 200_000);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = memory(tidepool);
      Kernel next = memory.compile(KernelSource.elementwise("y = x * 2"));
      UnifiedBuffer<int[]> x = memory.allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE);
      UnifiedBuffer<int[]> y = memory.allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE);
      x.fill(new int[] {1});
      for (int round = 1; round <= 20; round++) {
        next.executeAsync(Arguments.of("x", x, "y", y));
        try (NativeAccess access = memory.lend(NativeUse.write(x))) {
          assertThat(access.handle(x).kind()).isEqualTo(NativeKind.CUDA_POINTER);
          assertThat(access.queue()).isNotZero();
          set(access, access.queue(), access.handle(x), 10 + round);
        }
        next.executeAsync(Arguments.of("x", x, "y", y));
        assertThat(valueOf(y)).isEqualTo(2 * (10 + round));
      }
    }
  }

  @Test
  void commandsOnAForeignStreamComeBetweenKernels() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.setAll("latency_ns", 200_000);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = memory(tidepool);
      Kernel next = memory.compile(KernelSource.elementwise("y = x * 2"));
      UnifiedBuffer<int[]> x = memory.allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE);
      UnifiedBuffer<int[]> y = memory.allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE);
      x.fill(new int[] {1});
      Context context = contextOf(memory, x);
      long stream = context.call(() -> Cuda.cuStreamCreateWithPriority(0));
      for (int round = 1; round <= 20; round++) {
        next.executeAsync(Arguments.of("x", x, "y", y));
        try (NativeAccess access = memory.lendOn(stream, NativeUse.write(x))) {
          assertThat(access.queue()).isEqualTo(stream);
          set(access, stream, access.handle(x), 10 + round);
        }
        next.executeAsync(Arguments.of("x", x, "y", y));
        assertThat(valueOf(y)).isEqualTo(2 * (10 + round));
      }
      memory.synchronize();
      context.run(() -> Cuda.cuStreamDestroy(stream));
      context.release();
    }
  }

  /** The context as another library finds it: the primary one of the device. */
  private static Context contextOf(UnifiedMemoryManager memory, UnifiedBuffer<?> buffer) {
    Context context = Context.retain(0);
    try (NativeAccess access = memory.lend(NativeUse.read(buffer))) {
      assertThat(access.context()).isEqualTo(context.handle());
      assertThat(access.device()).isZero();
    }
    return context;
  }

  @Test
  void streamsOfOthersAreRefused() {
    Simulation.with(2);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = memory(tidepool);
      UnifiedBuffer<int[]> x = memory.allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE);
      x.fill(new int[] {1});
      Context other = Context.retain(1);
      long stream = other.call(() -> Cuda.cuStreamCreateWithPriority(0));
      assertThatThrownBy(() -> memory.lendOn(stream, NativeUse.read(x)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another context");
      other.run(() -> Cuda.cuStreamDestroy(stream));
      other.release();
      for (long standing : List.of(0L, 1L, 2L)) {
        assertThatThrownBy(() -> memory.lendOn(standing, NativeUse.read(x)))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("default stream");
      }
      assertThatThrownBy(() -> memory.lend(NativeUse.read(x).as(NativeKind.OPENCL_BUFFER)))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("CUDA_POINTER");
      assertThat(valueOf(x)).isEqualTo(1);
    }
  }
}
