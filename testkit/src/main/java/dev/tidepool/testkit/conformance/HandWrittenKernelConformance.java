package dev.tidepool.testkit.conformance;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import org.junit.jupiter.api.Test;

/** Hand-written kernels run over their ranges, if the accelerator accepts such sources. */
public abstract class HandWrittenKernelConformance extends Topic {
  private static final KernelParameter X = KernelParameter.in("x", ElementType.FLOAT);
  private static final KernelParameter Y = KernelParameter.out("y", ElementType.FLOAT);
  private static final KernelParameter A = KernelParameter.scalar("a", ElementType.FLOAT);

  private void assumeJava() {
    assumeTrue(bench().can(Capability.JAVA_KERNELS), "this accelerator runs no Java kernels");
  }

  private void assumeOpenCl() {
    assumeTrue(bench().can(Capability.OPENCL_KERNELS), "this accelerator runs no OpenCL kernels");
  }

  private void assumeCuda() {
    assumeTrue(bench().can(Capability.CUDA_KERNELS), "this accelerator runs no CUDA kernels");
  }

  private void assumeMetal() {
    assumeTrue(bench().can(Capability.METAL_KERNELS), "this accelerator runs no Metal kernels");
  }

  /** Compiles a kernel, or skips the test: without NVRTC, only code already compiled runs. */
  private Kernel compiledCuda(KernelSource source) {
    assumeCuda();
    try {
      return memory().compile(source);
    } catch (UnsupportedOperationException noCompiler) {
      return abort("no CUDA compiler: " + noCompiler.getMessage());
    }
  }

  private static float[] scaled(float[] x, float a) {
    float[] out = new float[x.length];
    for (int i = 0; i < x.length; i++) {
      out[i] = a * x[i];
    }
    return out;
  }

  @Test
  void aJavaKernelRunsOnceForEachElement() {
    assumeJava();
    Kernel scale =
        memory()
            .compile(
                KernelSource.java(
                    item ->
                        item.array(1)
                            .set(
                                JAVA_FLOAT_UNALIGNED,
                                4 * item.globalId(0),
                                (float) item.scalar(2)
                                    * item.array(0)
                                        .get(JAVA_FLOAT_UNALIGNED, 4 * item.globalId(0))),
                    X,
                    Y,
                    A));
    scalesBuffersSlicesAndArrays(scale);
  }

  @Test
  void anOpenClKernelRunsOnceForEachElement() {
    assumeOpenCl();
    Kernel scale =
        memory()
            .compile(
                KernelSource.opencl(
                    """
                    __kernel void scale(__global const float *x, __global float *y, float a) {
                      size_t i = get_global_id(0);
                      y[i] = a * x[i];
                    }
                    """,
                    "scale",
                    X,
                    Y,
                    A));
    scalesBuffersSlicesAndArrays(scale);
  }

  @Test
  void aCudaKernelRunsOnceForEachElement() {
    scalesBuffersSlicesAndArrays(
        compiledCuda(
            KernelSource.cuda(
                """
                extern "C" __global__ void scale(const float *x, float *y, float a) {
                  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
                  y[i] = a * x[i];
                }
                """,
                "scale",
                X,
                Y,
                A)));
  }

  @Test
  void aMetalKernelRunsOnceForEachElement() {
    assumeMetal();
    scalesBuffersSlicesAndArrays(
        memory()
            .compile(
                KernelSource.metal(
                    """
                    kernel void scale(device const float *x [[buffer(0)]],
                                      device float *y [[buffer(1)]],
                                      constant float &a [[buffer(2)]],
                                      uint i [[thread_position_in_grid]]) {
                      y[i] = a * x[i];
                    }
                    """,
                    "scale",
                    X,
                    Y,
                    A)));
  }

  private void scalesBuffersSlicesAndArrays(Kernel scale) {
    refusesWhatAFloatCannotHold(scale);
    int length = 5003;
    UnifiedBuffer<float[]> x = patterned(length, MemoryLocation.HOST, 1);
    UnifiedBuffer<float[]> y = patterned(length, MemoryLocation.HOST, 2);
    scale.execute(Arguments.of("x", x, "y", y, "a", 3));
    assertThat(x.state()).isEqualTo(BufferState.SYNCHRONIZED);
    assertThat(y.state()).isEqualTo(BufferState.DEVICE_DIRTY);
    float[] model = scaled(pattern(length, 1), 3);
    Patterns.assertEqual(contents(y), model, "over buffers");

    try (UnifiedBuffer<float[]> from = x.slice(1001, 77);
        UnifiedBuffer<float[]> to = y.slice(3, 77)) {
      scale.execute(Arguments.of("x", from, "y", to, "a", -1));
    }
    model =
        Patterns.overlaid(
            ElementType.FLOAT,
            model,
            3,
            scaled(Patterns.range(ElementType.FLOAT, pattern(length, 1), 1001, 1078), -1));
    Patterns.assertEqual(contents(y), model, "over slices at odd offsets");

    float[] out = new float[length];
    scale.executeAsync(Arguments.of("x", pattern(length, 4), "y", out, "a", 2)).join();
    Patterns.assertEqual(out, scaled(pattern(length, 4), 2), "over arrays");
  }

  private static void refusesWhatAFloatCannotHold(Kernel scale) {
    float[] y = {3};
    for (Object wrong : new Object[] {1e300, 16777217}) {
      assertThatThrownBy(() -> scale.execute(Arguments.of("x", new float[1], "y", y, "a", wrong)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContainingAll("argument 'a' of ", "is " + wrong, "FLOAT cannot hold");
    }
    scale.execute(Arguments.of("x", new float[] {1}, "y", y, "a", 0.1));
    assertThat(y[0]).isEqualTo(0.1f);
  }

  @Test
  void aJavaRangeHasThreeDimensionsInGroups() {
    assumeJava();
    long[] sizes = {4, 6, 5};
    Kernel trace =
        memory()
            .compile(
                KernelSource.java(
                    item -> {
                      long index =
                          item.globalId(0)
                              + item.globalSize(0)
                                  * (item.globalId(1) + item.globalSize(1) * item.globalId(2));
                      boolean consistent = true;
                      for (int d = 0; d < 3; d++) {
                        consistent &=
                            item.globalId(d)
                                == item.groupId(d) * item.groupSize(d) + item.localId(d);
                      }
                      item.array(0)
                          .set(JAVA_LONG_UNALIGNED, 8 * index, consistent ? index + 1 : -1);
                    },
                    KernelParameter.out("out", ElementType.LONG)));
    UnifiedBuffer<long[]> out = buffer(ElementType.LONG, 120, MemoryLocation.DEVICE);
    trace.execute(Arguments.of("out", out), LaunchRange.of(sizes).inGroupsOf(2, 3, 5));
    long[] expected = new long[120];
    for (int i = 0; i < 120; i++) {
      expected[i] = i + 1L;
    }
    Patterns.assertEqual(contents(out), expected, "every item once");
  }

  @Test
  void theItemsOfAJavaGroupShareLocalMemory() {
    assumeJava();
    Kernel sums =
        memory()
            .compile(
                KernelSource.java(
                    item -> {
                      int before =
                          item.localId(0) == 0 ? 0 : item.localMemory().get(JAVA_INT_UNALIGNED, 0);
                      int sum =
                          before + item.array(0).get(JAVA_INT_UNALIGNED, 4 * item.globalId(0));
                      item.localMemory().set(JAVA_INT_UNALIGNED, 0, sum);
                      if (item.localId(0) == item.groupSize(0) - 1) {
                        item.array(1).set(JAVA_INT_UNALIGNED, 4 * item.groupId(0), sum);
                      }
                    },
                    KernelParameter.in("x", ElementType.INT),
                    KernelParameter.out("sums", ElementType.INT)));
    sumsGroupsOfSquares(sums, 4);
  }

  @Test
  void theItemsOfACudaGroupShareLocalMemory() {
    Kernel sums =
        compiledCuda(
            KernelSource.cuda(
                """
                extern "C" __global__ void sums(const int *x, int *sums) {
                  extern __shared__ int scratch[];
                  scratch[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
                  __syncthreads();
                  if (threadIdx.x == 0) {
                    int sum = 0;
                    for (int j = 0; j < blockDim.x; j++) sum += scratch[j];
                    sums[blockIdx.x] = sum;
                  }
                }
                """,
                "sums",
                KernelParameter.in("x", ElementType.INT),
                KernelParameter.out("sums", ElementType.INT)));
    sumsGroupsOfSquares(sums, 32);
  }

  @Test
  void theItemsOfAnOpenClGroupShareLocalMemory() {
    assumeOpenCl();
    Kernel sums =
        memory()
            .compile(
                KernelSource.opencl(
                    """
                    __kernel void sums(__global const int *x, __global int *sums,
                                       __local int *scratch) {
                      size_t i = get_local_id(0);
                      scratch[i] = x[get_global_id(0)];
                      barrier(CLK_LOCAL_MEM_FENCE);
                      if (i == 0) {
                        int sum = 0;
                        for (size_t j = 0; j < get_local_size(0); j++) sum += scratch[j];
                        sums[get_group_id(0)] = sum;
                      }
                    }
                    """,
                    "sums",
                    KernelParameter.in("x", ElementType.INT),
                    KernelParameter.out("sums", ElementType.INT)));
    sumsGroupsOfSquares(sums, 32);
  }

  @Test
  void theItemsOfAMetalGroupShareLocalMemory() {
    assumeMetal();
    Kernel sums =
        memory()
            .compile(
                KernelSource.metal(
                    """
                    #include <metal_stdlib>
                    using namespace metal;
                    kernel void sums(device const int *x [[buffer(0)]],
                                     device int *sums [[buffer(1)]],
                                     threadgroup int *scratch [[threadgroup(0)]],
                                     uint i [[thread_position_in_grid]],
                                     uint local [[thread_position_in_threadgroup]],
                                     uint group [[threadgroup_position_in_grid]],
                                     uint size [[threads_per_threadgroup]]) {
                      scratch[local] = x[i];
                      threadgroup_barrier(mem_flags::mem_threadgroup);
                      if (local == 0) {
                        int sum = 0;
                        for (uint j = 0; j < size; j++) sum += scratch[j];
                        sums[group] = sum;
                      }
                    }
                    """,
                    "sums",
                    KernelParameter.in("x", ElementType.INT),
                    KernelParameter.out("sums", ElementType.INT)));
    sumsGroupsOfSquares(sums, 32);
  }

  /** Checks one sum for each group of eight squares. */
  private static void sumsGroupsOfSquares(Kernel sums, long localBytes) {
    int[] x = new int[64];
    int[] expected = new int[8];
    for (int i = 0; i < 64; i++) {
      x[i] = i * i;
      expected[i / 8] += i * i;
    }
    int[] result = new int[8];
    sums.execute(
        Arguments.of("x", x, "sums", result),
        LaunchRange.of(64).inGroupsOf(8).withLocalMemory(localBytes));
    Patterns.assertEqual(result, expected, "a sum for each group");
  }

  @Test
  void whatIsReadAndWrittenKeepsWhatTheKernelLeavesAlone() {
    assumeJava();
    Kernel poke =
        memory()
            .compile(
                KernelSource.java(
                    item -> item.array(0).set(JAVA_FLOAT_UNALIGNED, 4 * 7, 1234.5f),
                    KernelParameter.inout("y", ElementType.FLOAT)));
    UnifiedBuffer<float[]> y = patterned(1000, MemoryLocation.HOST, 1);
    poke.execute(Arguments.of("y", y), LaunchRange.of(1));
    float[] model = pattern(1000, 1);
    model[7] = 1234.5f;
    Patterns.assertEqual(contents(y), model, "one element changed");
  }

  @Test
  void nothingOfABufferOverlapsNothingOfIt() {
    assumeJava();
    Kernel copy =
        memory()
            .compile(KernelSource.java(_ -> {}, X, KernelParameter.inout("y", ElementType.FLOAT)));
    for (UnifiedMemoryManager other : bench().otherManagers()) {
      try (UnifiedBuffer<float[]> y = other.copyOf(pattern(100, 1))) {
        copy.execute(Arguments.of("x", y.slice(50, 0), "y", y), LaunchRange.of(1));
        Patterns.assertEqual(contents(y), pattern(100, 1), "of " + other.accelerator().id());
      }
    }
  }

  @Test
  void anEmptyRangeRunsNothing() {
    assumeJava();
    Kernel fails =
        memory()
            .compile(
                KernelSource.java(
                    _ -> {
                      throw new IllegalStateException("an item of an empty range ran");
                    },
                    KernelParameter.inout("y", ElementType.FLOAT)));
    UnifiedBuffer<float[]> y = patterned(10, MemoryLocation.DEVICE, 1);
    fails.execute(Arguments.of("y", y), LaunchRange.of(0));
    Patterns.assertEqual(contents(y), pattern(10, 1), "untouched");
  }

  @Test
  void wrongOpenClSourceIsRefusedWithTheCompilersLog() {
    assumeOpenCl();
    KernelSource wrong =
        KernelSource.opencl("__kernel void f(__global float *y) { y[0] = nonsense; }", "f", Y);
    assertThatThrownBy(() -> memory().compile(wrong).execute(Arguments.of("y", new float[1])))
        .isInstanceOf(KernelCompilationException.class)
        .satisfies(e -> assertThat(((KernelCompilationException) e).log()).contains("nonsense"));
  }

  @Test
  void wrongMetalSourceIsRefusedWithTheCompilersLog() {
    assumeMetal();
    KernelSource wrong =
        KernelSource.metal(
            "\nkernel void f(device float *y [[buffer(0)]]) {\n  y[0] = nonsense;\n}", "f", Y);
    assertThatThrownBy(() -> memory().compile(wrong).execute(Arguments.of("y", new float[1])))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining(":3:")
        .satisfies(e -> assertThat(((KernelCompilationException) e).log()).contains("nonsense"));
  }

  @Test
  void sourcesForOthersAreUnsupported() {
    assumeFalse(bench().can(Capability.CUDA_KERNELS), "this accelerator runs CUDA kernels");
    assertThatThrownBy(
            () ->
                memory()
                    .compile(
                        KernelSource.cuda("extern \"C\" __global__ void f(float *y) {}", "f", Y)))
        .isInstanceOf(UnsupportedOperationException.class);
  }

  @Test
  void javaCodeStillDividesByZeroAsJavaDoes() {
    int caught = 0;
    for (int i = 0; i < 30_000; i++) {
      try {
        Math.floorDiv(i, Integer.parseInt("0"));
      } catch (ArithmeticException e) {
        caught++;
      }
    }
    assertThat(caught)
        .as("a driver that replaced the handler of SIGFPE breaks this")
        .isEqualTo(30_000);
  }
}
