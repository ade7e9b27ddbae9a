package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A device that is opened on a context, and a stream, of another library in the process. */
@ExtendWith(NothingLeaks.class)
class AdoptedContextTest {
  private static final String CONTEXT = Library.CONTEXT;
  private static final String STREAM = Library.STREAM;
  private static final MemoryLocation DEVICE = MemoryLocation.DEVICE;

  private static <T> T with(String context, String stream, Supplier<T> action) {
    return Simulation.under(Map.of(CONTEXT, context, STREAM, stream), action);
  }

  private static Tidepool open() {
    return Simulation.open(new CudaProvider());
  }

  /** A kernel over bytes that go there and come back. */
  private static void work(Tidepool tidepool, String accelerator) {
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(accelerator));
    Kernel twice = memory.compile(KernelSource.elementwise("y = x + x"));
    float[] ones = new float[5000];
    Arrays.fill(ones, 1);
    try (UnifiedBuffer<float[]> x = memory.copyOf(ones);
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, 5000)) {
      twice.execute(Arguments.of("x", x, "y", y));
      twice.executeAsync(Arguments.of("x", y, "y", x)).join();
      x.copyTo(ones);
    }
    assertThat(ones).containsOnly(4);
  }

  @Test
  void aDeviceIsOpenedOnTheContextThatIsNamed() {
    SimulatedCuda simulated = Simulation.with(2);
    try (Library library = Library.on(1)) {
      simulated.forget();
      try (Tidepool tidepool = with(library.contextText(), "", AdoptedContextTest::open)) {
        assertThat(simulated.calls("cuDevicePrimaryCtxRetain")).as("of the other").isOne();
        work(tidepool, "cuda:0");
        work(tidepool, "cuda:1");
      }
      assertThat(simulated.calls("cuDevicePrimaryCtxRelease_v2")).isOne();
      // It is the library's still.
      library.context().run(() -> Cuda.cuStreamSynchronize(library.stream()));
    }
  }

  @Test
  void aContextThatTheProgramMadeIsUsedAndStays() {
    SimulatedCuda simulated = Simulation.with(1);
    long own = created();
    try (Tidepool tidepool = with(Long.toString(own), "", AdoptedContextTest::open)) {
      work(tidepool, "cuda:0");
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      try (UnifiedBuffer<float[]> buffer = memory.copyOf(new float[100]);
          NativeAccess access = memory.lend(NativeUse.read(buffer))) {
        assertThat(access.context()).isEqualTo(own);
      }
      assertThat(simulated.calls("cuDevicePrimaryCtxRetain")).isZero();
    }
    // Destroying it finds nothing of Tidepool's in there.
    destroy(own);
  }

  private static long created() {
    Cuda.cuInit();
    MethodHandle create = Installed.DRIVER.code("cuCtxCreate_v2", ADDRESS, JAVA_INT, JAVA_INT);
    long own = NativeCall.get("cuCtxCreate_v2", context -> (int) create.invokeExact(context, 0, 0));
    // Creating it made it current.
    Cuda.cuCtxPopCurrent();
    return own;
  }

  private static void destroy(long own) {
    MethodHandle destroy = Installed.DRIVER.code("cuCtxDestroy_v2", JAVA_LONG);
    NativeCall.call("cuCtxDestroy_v2", () -> (int) destroy.invokeExact(own));
  }

  /** Opens the first device on a context, without memory that descriptors stand for. */
  private static Tidepool openPlain(String context, Path folder) {
    MemoryOptions options =
        MemoryOptions.builder().sharedDirectory(folder).calibration(false).build();
    return Simulation.under(
        Map.of(CONTEXT, context, "tidepool.cuda.vmm", "none"),
        () -> Discovery.using(List.of(new CudaProvider()), () -> Tidepool.open(options)));
  }

  private static UnifiedMemoryManager memory(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("cuda:0"));
  }

  /** It lies in the primary context, where kernels of another one cannot reach it. */
  @Test
  void plainMemoryIsNotSharedByADeviceOnAContextThatTheProgramMade(@TempDir Path folder) {
    Simulation.with(1);
    long own = created();
    try (Tidepool primary = openPlain("", folder);
        Tidepool tidepool = openPlain(Long.toString(own), folder);
        UnifiedBuffer<int[]> shared =
            memory(primary).createShared(ElementType.INT, 100, "primary", DEVICE)) {
      assertThat(shared.length()).isEqualTo(100);
      assertThatThrownBy(
              () -> memory(tidepool).createShared(ElementType.INT, 100, "own", DEVICE).close())
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("not the primary one");
      assertThatThrownBy(
              () -> memory(tidepool).openShared(ElementType.INT, "primary", DEVICE).close())
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("not the primary one");
    }
    destroy(own);
  }

  @Test
  void plainMemoryIsSharedByADeviceOnThePrimaryContextOfALibrary(@TempDir Path folder) {
    Simulation.with(1);
    try (Library library = Library.on(0);
        Tidepool tidepool = openPlain(library.contextText(), folder)) {
      UnifiedMemoryManager memory = memory(tidepool);
      Kernel next = memory.compile(KernelSource.elementwise("y = y + 1"));
      try (UnifiedBuffer<float[]> shared =
          memory.createShared(ElementType.FLOAT, 100, "shared", DEVICE)) {
        next.execute(Arguments.of("y", shared));
        float[] read = new float[100];
        shared.copyTo(read);
        assertThat(read).containsOnly(1);
      }
    }
  }

  @Test
  void allCommandsGoToTheStreamThatIsNamed() {
    SimulatedCuda simulated = Simulation.with(1);
    try (Library library = Library.on(0)) {
      simulated.forget();
      try (Tidepool tidepool =
          with(library.contextText(), library.streamText(), AdoptedContextTest::open)) {
        work(tidepool, "cuda:0");
        assertThat(simulated.calls("cuStreamCreateWithPriority")).as("for allocations").isOne();
      }
      assertThat(simulated.calls("cuStreamDestroy_v2")).isOne();
      library.context().run(() -> Cuda.cuStreamSynchronize(library.stream()));
    }
  }

  @Test
  void aCopyComesBehindWhatTheLibrarySubmittedBefore() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "latency_ns", 20_000_000);
    try (Library library = Library.on(0);
        CudaDevice device =
            (CudaDevice)
                with(library.contextText(), library.streamText(), Simulation::devices).getFirst();
        Queue queue = device.createQueue()) {
      CudaBlock block = (CudaBlock) device.allocate(64, 64, BlockKind.DEVICE);
      long there = block.address();
      library.context().run(() -> Cuda.cuMemsetD8Async(there, (byte) 5, 64, library.stream()));
      assertThat(new Bytes(device, queue).read(block, 0, 64)).containsOnly(5);
      block.free();
    }
  }

  @Test
  void withoutSettingsThePrimaryContextIsRetained() {
    SimulatedCuda simulated = Simulation.with(1);
    try (Tidepool tidepool = open()) {
      work(tidepool, "cuda:0");
      assertThat(simulated.calls("cuDevicePrimaryCtxRetain")).isOne();
    }
  }

  private static void assertRefused(String context, String stream, String... message) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> with(context, stream, () -> new CudaProvider().discover()))
        .satisfies(refused -> assertThat(refused.getMessage()).contains(message));
  }

  @Test
  void aNullContextIsRefused() {
    Simulation.with(1);
    assertRefused("0", "", CONTEXT, "is null", "CUcontext");
  }

  @Test
  void whatIsNoContextIsRefused() {
    Simulation.with(1);
    assertRefused("0x1230", "", CONTEXT + "=0x1230", "CUDA_ERROR_INVALID_CONTEXT");
  }

  @Test
  void whatIsNoNumberIsRefused() {
    Simulation.with(1);
    assertRefused("mine", "", CONTEXT + "=mine", "no handle", "0x");
  }

  @Test
  void aStreamWithoutItsContextIsRefused() {
    Simulation.with(1);
    assertRefused("", "0x1230", STREAM + " is set without " + CONTEXT);
  }

  @Test
  void aContextOfADeviceThatIsLeftOutIsRefused() {
    SimulatedCuda simulated = Simulation.with(2);
    try (Library library = Library.on(1)) {
      simulated.set(
          1, "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, Cuda.CU_COMPUTEMODE_PROHIBITED);
      assertRefused(library.contextText(), "", CONTEXT + " is of device 1", "cannot be used");
    }
  }

  @Test
  void defaultStreamsAreRefused() {
    Simulation.with(1);
    try (Library library = Library.on(0)) {
      for (String stream : new String[] {"0", "1", "2"}) {
        assertRefused(library.contextText(), stream, STREAM + "=" + stream, "default stream");
      }
    }
  }

  @Test
  void whatIsNoStreamIsRefused() {
    SimulatedCuda simulated = Simulation.with(1);
    try (Library library = Library.on(0)) {
      simulated.fail("cuStreamGetCtx", 1, 400);
      assertRefused(
          library.contextText(), library.streamText(), STREAM, "CUDA_ERROR_INVALID_HANDLE");
    }
  }

  @Test
  void aStreamOfAnotherDeviceIsRefused() {
    Simulation.with(2);
    try (Library first = Library.on(0);
        Library second = Library.on(1)) {
      assertRefused(
          first.contextText(), second.streamText(), STREAM, "a stream of context", "of device 0");
    }
  }

  @Test
  void aTidepoolGoesOnWithoutTheDevicesAndSaysWhy() {
    Simulation.with(1);
    try (Tidepool tidepool = with("0", "", AdoptedContextTest::open)) {
      assertThat(tidepool.accelerators()).extracting(Accelerator::id).containsExactly("cpu:0");
      assertThat(tidepool.notes()).anyMatch(note -> note.contains(CONTEXT + " is null"));
    }
  }
}
