package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each thing that goes wrong has a name, and the other accelerators keep working. */
@ExtendWith(NothingLeaks.class)
class BadInputTest {
  private static UnifiedMemoryManager memory(Tidepool tidepool, String id) {
    return tidepool.memory(tidepool.accelerator(id));
  }

  private static void assertWorks(Tidepool tidepool, String id) {
    UnifiedMemoryManager memory = memory(tidepool, id);
    try (UnifiedBuffer<int[]> x = memory.copyOf(new int[] {1, 2, 3})) {
      memory.compile(KernelSource.elementwise("x = 2*x")).execute(Arguments.of("x", x));
      int[] read = new int[3];
      x.copyTo(read);
      assertThat(read).as(id).containsExactly(2, 4, 6);
    }
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        ErrorCodes.CUDA_ERROR_ILLEGAL_ADDRESS,
        ErrorCodes.CUDA_ERROR_LAUNCH_FAILED,
        ErrorCodes.CUDA_ERROR_ECC_UNCORRECTABLE,
        ErrorCodes.CUDA_ERROR_CONTAINED,
        ErrorCodes.CUDA_ERROR_CONTEXT_IS_DESTROYED,
        ErrorCodes.CUDA_ERROR_TENSOR_MEMORY_LEAK,
        ErrorCodes.CUDA_ERROR_MPS_CLIENT_TERMINATED,
        ErrorCodes.CUDA_ERROR_EXTERNAL_DEVICE
      })
  void aDeviceThatIsLostAtWorkIsNamedAndTheOthersGoOn(int code) {
    SimulatedCuda simulated = Simulation.with(2);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = memory(tidepool, "cuda:0");
      UnifiedBuffer<int[]> buffer = memory.copyOf(new int[1000]);
      simulated.set(0, "lost", code);
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(() -> buffer.copyTo(new int[1000]))
            .isInstanceOf(TidepoolException.class)
            .hasMessageContaining(ErrorCodes.nameOf(code))
            .rootCause()
            .isInstanceOfSatisfying(
                AcceleratorException.class,
                lost -> {
                  assertThat(lost.kind()).isEqualTo(AcceleratorException.Kind.DEVICE_LOST);
                  assertThat(lost.code()).isEqualTo(code);
                  assertThat(lost.codeName()).isEqualTo(ErrorCodes.nameOf(code));
                });
      }
      assertThatThrownBy(() -> memory.allocate(ElementType.INT, 5_000_000))
          .isInstanceOf(TidepoolException.class)
          .hasMessageContaining(ErrorCodes.nameOf(code));
      assertWorks(tidepool, "cuda:1");
      assertWorks(tidepool, "cpu:0");
      buffer.close();
    }
    // What a lost device had is gone with it.
    simulated.reset(1);
  }

  @Test
  void moreThanTheCardHasIsNamedAndTheCardGoesOn() {
    SimulatedCuda simulated = Simulation.with(2);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = memory(tidepool, "cuda:0");
      assertThatThrownBy(() -> memory.allocate(ElementType.INT, 1 << 29))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("larger than the largest that cuda:0 allows, " + (1 << 30));
      // As where another process has it all.
      simulated.set(0, "largest_piece", 0);
      assertThatThrownBy(() -> memory.allocate(ElementType.INT, 10 << 20))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("no room for")
          .hasMessageContaining("CUDA_ERROR_OUT_OF_MEMORY");
      simulated.set(0, "largest_piece", Long.MAX_VALUE);
      assertWorks(tidepool, "cuda:0");
      assertWorks(tidepool, "cuda:1");
      assertWorks(tidepool, "cpu:0");
    }
  }

  @Test
  void aKernelThatDoesNotCompileIsNamedWithTheLineAndTheOthersGoOn() {
    Simulation.with(1);
    String source =
        """
        extern "C" __global__ void broken(float *x) {
          x[0] = 1;
          x[1] = missing;
        }
        """;
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = memory(tidepool, "cuda:0");
      assertThatThrownBy(
              () ->
                  memory.compile(
                      KernelSource.cuda(
                          source, "broken", KernelParameter.inout("x", ElementType.FLOAT))))
          .isInstanceOfSatisfying(
              KernelCompilationException.class,
              wrong -> assertThat(wrong.log()).contains("kernel.cu", "3", "missing"));
      assertWorks(tidepool, "cuda:0");
      assertWorks(tidepool, "cpu:0");
    }
  }

  @Test
  void aDriverThatIsTooOldLeavesTheProcessorsAndSaysWhichIsNeeded() {
    Simulation.with(1).set(0, "driver_version", 11030);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(tidepool.notes())
          .anySatisfy(note -> assertThat(note).contains("11.4 or newer", "driver 470"));
      assertWorks(tidepool, "cpu:0");
    }
  }

  @Test
  void aCardInExclusiveModeThatAnotherHasIsLeftOutAndTheOthersWork() {
    SimulatedCuda simulated = Simulation.with(2);
    // CU_COMPUTEMODE_EXCLUSIVE_PROCESS
    simulated.set(0, "attribute." + Cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 3);
    simulated.set(0, "taken", 1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(tidepool.notes())
          .anySatisfy(
              note -> assertThat(note).contains("CUDA_ERROR_DEVICE_UNAVAILABLE", "nvidia-smi -c"));
      assertWorks(tidepool, "cuda:0");
      assertWorks(tidepool, "cpu:0");
    }
  }

  @Test
  void withoutPermissionOnTheNodesTheProcessorsWork() {
    Simulation.with(1).fail("cuInit", 1, ErrorCodes.CUDA_ERROR_NO_DEVICE);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(tidepool.notes())
          .anySatisfy(note -> assertThat(note).contains("the CUDA driver has no device"));
      assertWorks(tidepool, "cpu:0");
    }
  }
}
