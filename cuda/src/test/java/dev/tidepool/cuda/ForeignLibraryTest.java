package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.Arrays;
import java.util.function.LongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A library of kernels, called as cuBLAS is, over buffers that it is lent. */
@ExtendWith(NothingLeaks.class)
class ForeignLibraryTest {
  private static final int LENGTH = 10_000;
  private static final int ROUNDS = 10;

  /** How the library is lent buffers, and gets a stream. */
  interface Lending {
    NativeAccess of(UnifiedMemoryManager memory, NativeUse... uses);
  }

  /**
   * {@code x} grows by a kernel, the library adds it to {@code y}, and a kernel doubles that; all
   * are submitted before the first has run.
   */
  private static void assertRuns(Tidepool tidepool, Lending lending) {
    assertRuns(tidepool, lending, SaxpyLibrary::in);
  }

  static void assertRuns(Tidepool tidepool, Lending lending, LongFunction<SaxpyLibrary> libraryIn) {
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
    Kernel grow = memory.compile(KernelSource.elementwise("x = x + i"));
    Kernel twice = memory.compile(KernelSource.elementwise("y = y * 2"));
    float[] ramp = new float[LENGTH];
    float[] expectedX = new float[LENGTH];
    float[] expectedY = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      ramp[i] = i % 7;
    }
    try (UnifiedBuffer<float[]> steps = memory.copyOf(ramp);
        UnifiedBuffer<float[]> x =
            memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
        UnifiedBuffer<float[]> y =
            memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE)) {
      x.fill((byte) 0);
      y.fill((byte) 0);
      SaxpyLibrary library;
      try (NativeAccess access = memory.lend(NativeUse.read(x))) {
        library = libraryIn.apply(access.context());
      }
      for (int round = 0; round < ROUNDS; round++) {
        grow.executeAsync(Arguments.of("x", x, "i", steps));
        try (NativeAccess access = lending.of(memory, NativeUse.read(x), NativeUse.readWrite(y))) {
          library.saxpy(
              0.5f, access.handle(x).address(), access.handle(y).address(), LENGTH, access);
        }
        twice.executeAsync(Arguments.of("y", y));
        for (int i = 0; i < LENGTH; i++) {
          expectedX[i] += ramp[i];
          expectedY[i] = (expectedY[i] + 0.5f * expectedX[i]) * 2;
        }
      }
      float[] result = new float[LENGTH];
      y.copyTo(result);
      assertThat(result).isEqualTo(expectedY);
      library.close();
    }
  }

  @Test
  void itRunsOnTheLentStream() {
    Simulation.with(1).setAll("latency_ns", 1_000_000);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertRuns(tidepool, UnifiedMemoryManager::lend);
    }
  }

  @Test
  void itRunsOnAStreamOfItsOwn() {
    Simulation.with(1).setAll("latency_ns", 1_000_000);
    try (Library owner = Library.on(0);
        Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertRuns(tidepool, (memory, uses) -> memory.lendOn(owner.stream(), uses));
      tidepool.memory(tidepool.accelerator("cuda:0")).synchronize();
    }
  }

  @Test
  void onAnAdoptedStreamNoStreamWaitsForAnother() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.setAll("latency_ns", 1_000_000);
    try (Library owner = Library.on(0);
        Tidepool tidepool =
            Simulation.under(owner.settings(), () -> Simulation.open(new CudaProvider()))) {
      assertRuns(
          tidepool,
          (memory, uses) -> {
            NativeAccess access = memory.lend(uses);
            assertThat(access.queue()).isEqualTo(owner.stream());
            return access;
          });
      assertThat(simulated.calls("cuStreamWaitEvent")).isZero();
    }
  }

  @Test
  void itTakesASliceFromItsFirstElement() {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      float[] ones = new float[LENGTH];
      Arrays.fill(ones, 1);
      try (UnifiedBuffer<float[]> x = memory.copyOf(ones);
          UnifiedBuffer<float[]> y = memory.copyOf(ones);
          UnifiedBuffer<float[]> part = y.slice(100, 50);
          NativeAccess access = memory.lend(NativeUse.read(x), NativeUse.readWrite(part));
          SaxpyLibrary library = SaxpyLibrary.in(access.context())) {
        library.saxpy(2, access.handle(x).address(), access.handle(part).address(), 50, access);
        access.close();
        float[] result = new float[LENGTH];
        y.copyTo(result);
        for (int i = 0; i < LENGTH; i++) {
          assertThat(result[i]).as("at %d", i).isEqualTo(i >= 100 && i < 150 ? 3 : 1);
        }
      }
    }
  }
}
