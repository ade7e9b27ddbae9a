package dev.tidepool.testkit.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SimulatedKernelsTest {
  private static final int COMPILATION = 6;
  private static final int INVALID_OPTION = 5;

  private final SimulatedCuda simulation = SimulatedCuda.orSkip();
  private final Arena arena = Arena.ofShared();
  private Driver cuda;
  private Driver nvrtc;

  @BeforeEach
  void oneDevice() {
    cuda = Driver.with(simulation, 2);
    nvrtc = new Driver(simulation.compiler());
  }

  @AfterEach
  void free() {
    arena.close();
  }

  /** What a compilation gave. */
  private record Compiled(int code, String log, byte[] ptx, byte[] cubin) {}

  private Compiled compile(String source, String... options) {
    MemorySegment program = arena.allocate(ValueLayout.JAVA_LONG);
    nvrtc.must(
        "nvrtcCreateProgram",
        program,
        Driver.text(arena, source),
        Driver.text(arena, "my.cu"),
        0,
        MemorySegment.NULL,
        MemorySegment.NULL);
    long handle = program.get(ValueLayout.JAVA_LONG, 0);
    MemorySegment texts = arena.allocate(ValueLayout.ADDRESS, Math.max(1, options.length));
    for (int i = 0; i < options.length; i++) {
      texts.setAtIndex(ValueLayout.ADDRESS, i, Driver.text(arena, options[i]));
    }
    int code = nvrtc.call("nvrtcCompileProgram", handle, options.length, texts);
    String log =
        new String(output(handle, "ProgramLog", true), StandardCharsets.UTF_8).replace("\0", "");
    byte[] ptx = code == 0 ? output(handle, "PTX", true) : new byte[0];
    byte[] cubin = code == 0 ? output(handle, "CUBIN", false) : new byte[0];
    nvrtc.must("nvrtcDestroyProgram", program);
    return new Compiled(code, log, ptx, cubin);
  }

  private byte[] output(long program, String what, boolean always) {
    MemorySegment size = arena.allocate(ValueLayout.JAVA_LONG);
    nvrtc.must("nvrtcGet" + what + "Size", program, size);
    long bytes = size.get(ValueLayout.JAVA_LONG, 0);
    MemorySegment out = arena.allocate(Math.max(1, bytes));
    if (always || bytes > 0) {
      nvrtc.must("nvrtcGet" + what, program, out);
    }
    return out.asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE);
  }

  private int tryLoad(byte[] image) {
    return cuda.tryGet(
        "cuModuleLoadDataEx",
        arena.allocateFrom(ValueLayout.JAVA_BYTE, image),
        0,
        MemorySegment.NULL,
        MemorySegment.NULL);
  }

  private long load(byte[] image) {
    return cuda.get(
        "cuModuleLoadDataEx",
        arena.allocateFrom(ValueLayout.JAVA_BYTE, image),
        0,
        MemorySegment.NULL,
        MemorySegment.NULL);
  }

  private long kernel(String name, String source, String... options) {
    Compiled compiled = compile(source, options);
    assertThat(compiled.log()).isEmpty();
    return cuda.get("cuModuleGetFunction", load(compiled.ptx()), Driver.text(arena, name));
  }

  /** Launches over blocks of threads with numbers as arguments, 4 or 8 bytes each. */
  private int launch(
      long kernel, long stream, int blocks, int threads, int shared, Object... args) {
    MemorySegment places = arena.allocate(ValueLayout.ADDRESS, Math.max(1, args.length));
    for (int i = 0; i < args.length; i++) {
      MemorySegment value =
          switch (args[i]) {
            case Integer number -> arena.allocateFrom(ValueLayout.JAVA_INT, number);
            case Float number -> arena.allocateFrom(ValueLayout.JAVA_FLOAT, number);
            case Long number -> arena.allocateFrom(ValueLayout.JAVA_LONG, number);
            default -> throw new IllegalArgumentException();
          };
      places.setAtIndex(ValueLayout.ADDRESS, i, value);
    }
    return cuda.call(
        "cuLaunchKernel",
        kernel,
        blocks,
        1,
        1,
        threads,
        1,
        1,
        shared,
        stream,
        places,
        MemorySegment.NULL);
  }

  private float[] floats(long device, int count) {
    float[] values = new float[count];
    ByteBuffer.wrap(cuda.read(device, 4 * count))
        .order(ByteOrder.nativeOrder())
        .asFloatBuffer()
        .get(values);
    return values;
  }

  @Test
  void cudaCRunsOverTheGridOnTheStream() {
    long kernel =
        kernel(
            "axpy",
            """
            extern "C" __global__ void axpy(float a, const float* __restrict__ x, float* y, long n) {
              long i = (long) blockIdx.x * blockDim.x + threadIdx.x;
              if (i < n) y[i] = a * i + sqrtf(y[i]);
            }
            """,
            "--gpu-architecture=compute_80",
            "--fmad=false");
    int n = 300_000; // enough for several host threads
    long y = cuda.allocate(4L * n);
    long stream = cuda.stream();
    cuda.must("cuMemsetD32Async", y, Float.floatToIntBits(9), (long) n, stream);
    assertThat(launch(kernel, stream, (n + 255) / 256, 256, 0, 2f, y, y, (long) n)).isZero();
    cuda.synchronize(stream);
    float[] values = floats(y, n);
    for (int i = 0; i < n; i++) {
      assertThat(values[i]).isEqualTo(2f * i + 3);
    }
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aBarrierHoldsUntilAllThreadsOfTheBlockHaveCome() {
    long kernel =
        kernel(
            "sums",
            """
            // Sums of blocks, in static and in dynamic shared memory; extern "C" __global__ void not(
            extern "C" {
            __global__ void __launch_bounds__(256) sums(const int* in, int* out) {
              __shared__ int tile[256];
              extern __shared__ int dynamic[];
              tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
              __syncthreads();
              for (int step = blockDim.x / 2; step > 0; step /= 2) {
                if (threadIdx.x < step) tile[threadIdx.x] += tile[threadIdx.x + step];
                __syncthreads();
              }
              dynamic[blockDim.x - 1 - threadIdx.x] = threadIdx.x;
              __syncthreads();
              if (threadIdx.x == 0) out[blockIdx.x] = tile[0] + dynamic[0];
            }
            }
            """);
    int blocks = 16;
    long in = cuda.allocate(4L * 256 * blocks);
    long out = cuda.allocate(4L * blocks);
    byte[] ones = new byte[4 * 256 * blocks];
    ByteBuffer buffer = ByteBuffer.wrap(ones).order(ByteOrder.nativeOrder());
    for (int i = 0; i < 256 * blocks; i++) {
      buffer.putInt(i);
    }
    cuda.write(in, ones);
    long stream = cuda.stream();
    assertThat(launch(kernel, stream, blocks, 256, 4 * 256, in, out)).isZero();
    cuda.synchronize(stream);
    ByteBuffer sums = ByteBuffer.wrap(cuda.read(out, 4 * blocks)).order(ByteOrder.nativeOrder());
    for (int b = 0; b < blocks; b++) {
      assertThat(sums.getInt()).isEqualTo(256 * 255 / 2 + 256 * 256 * b + 255);
    }
  }

  @Test
  void contractionIsOnUnlessItIsSwitchedOff() {
    String source =
        """
        extern "C" __global__ void f(float a, float b, float* out) {
          out[0] = a * b - 1.0f;
        }
        """;
    long out = cuda.allocate(4);
    long stream = cuda.stream();
    float a = 1 + 0x1p-13f;
    float b = 1 - 0x1p-13f; // a * b is 1 - 2^-26, which rounds to 1
    assertThat(launch(kernel("f", source, "--fmad=false"), stream, 1, 1, 0, a, b, out)).isZero();
    cuda.synchronize(stream);
    assertThat(floats(out, 1)).containsExactly(0);
    assumeTrue(hasFusedMultiplyAdd(), "the processor has no fused multiply-add");
    assertThat(launch(kernel("f", source), stream, 1, 1, 0, a, b, out)).isZero();
    cuda.synchronize(stream);
    assertThat(floats(out, 1)).containsExactly(-0x1p-26f);
  }

  private static boolean hasFusedMultiplyAdd() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
      return lines.anyMatch(line -> line.startsWith("flags") && line.contains(" fma "));
    } catch (IOException absent) {
      return false;
    }
  }

  @Test
  void whatDoesNotCompileIsLoggedWithItsLine() {
    Compiled failed =
        compile(
            """
            extern "C" __global__ void f(float* out) {
              out[0] = undefined;
            }
            """);
    assertThat(failed.code()).isEqualTo(COMPILATION);
    assertThat(failed.log()).contains("my.cu(2): error:").contains("undefined").contains("1 error");
    Compiled foreign = compile("int x;\n#include <vector>\n");
    assertThat(foreign.code()).isEqualTo(COMPILATION);
    assertThat(foreign.log())
        .isEqualTo("my.cu(2): catastrophic error: cannot open source file \"vector\"\n");
    Compiled option = compile("int x;", "--no-such-thing");
    assertThat(option.code()).isEqualTo(INVALID_OPTION);
    assertThat(option.log()).contains("--no-such-thing");
    assertThat(compile("int x;", "--gpu-architecture=compute_12").code()).isEqualTo(INVALID_OPTION);
  }

  @Test
  void codeIsLoadedWhereItFits() {
    String source = "extern \"C\" __global__ void f() {} \n__global__ void mangled() {}";
    Compiled virtual = compile(source, "--gpu-architecture=compute_80");
    assertThat(new String(virtual.ptx(), StandardCharsets.US_ASCII))
        .contains(".target sm_80")
        .endsWith("\0");
    assertThat(virtual.cubin()).isEmpty();
    long module = load(virtual.ptx());
    cuda.must("cuModuleGetFunction", arena.allocate(8), module, Driver.text(arena, "f"));
    assertThat(cuda.tryGet("cuModuleGetFunction", module, Driver.text(arena, "mangled")))
        .isEqualTo(Driver.NOT_FOUND);
    Compiled real = compile(source, "-arch=sm_80");
    long kernel = cuda.get("cuModuleGetFunction", load(real.cubin()), Driver.text(arena, "f"));
    assertThat(cuda.get("cuFuncGetAttribute", 0, kernel)).isEqualTo(1024);
    assertThat(tryLoad(compile(source, "--gpu-architecture=compute_90").ptx()))
        .isEqualTo(Driver.INVALID_PTX);
    assertThat(tryLoad(compile(source, "--gpu-architecture=sm_75").cubin()))
        .isEqualTo(Driver.NO_BINARY_FOR_GPU);
    assertThat(tryLoad("nonsense\0".getBytes(StandardCharsets.US_ASCII)))
        .isEqualTo(Driver.INVALID_IMAGE);
    cuda.must("cuModuleUnload", module);
    assertThat(cuda.call("cuModuleUnload", module)).isEqualTo(Driver.INVALID_HANDLE);
  }

  @Test
  void aBadLaunchIsRefused() {
    long kernel = kernel("f", "extern \"C\" __global__ void f(int* p) { *p = 1; }");
    long stream = cuda.stream();
    long memory = cuda.allocate(4);
    assertThat(launch(kernel, stream, 1, 1025, 0, memory)).isEqualTo(Driver.INVALID_VALUE);
    assertThat(launch(kernel, stream, 0, 1, 0, memory)).isEqualTo(Driver.INVALID_VALUE);
    assertThat(launch(kernel, stream, 1, 1, 1 << 20, memory)).isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations()).isEmpty();
    cuda.must("cuCtxSetCurrent", cuda.retain(1));
    assertThat(launch(kernel, cuda.stream(), 1, 1, 0, memory)).isEqualTo(Driver.INVALID_HANDLE);
    assertThat(simulation.violations()).hasSize(1);
  }

  @Test
  void aKernelThatIsGivenFreedMemoryLosesTheDevice() {
    long kernel = kernel("f", "extern \"C\" __global__ void f(int* p) { *p = 1; }");
    long stream = cuda.stream();
    long memory = cuda.allocate(4);
    cuda.must("cuMemFree_v2", memory);
    assertThat(launch(kernel, stream, 1, 1, 0, memory)).isZero();
    assertThat(cuda.call("cuStreamSynchronize", stream)).isEqualTo(Driver.ILLEGAL_ADDRESS);
    assertThat(simulation.violations()).singleElement().asString().contains("argument 0");
  }

  @Test
  void aNumberThatLooksLikeAnAddressIsPassedAsItIs() {
    long kernel =
        kernel(
            "f",
            "extern \"C\" __global__ void f(unsigned long long* p, unsigned long long n) { *p = n;"
                + " }");
    long stream = cuda.stream();
    long memory = cuda.allocate(8);
    assertThat(launch(kernel, stream, 1, 1, 0, memory, memory)).isZero();
    cuda.synchronize(stream);
    assertThat(ByteBuffer.wrap(cuda.read(memory, 8)).order(ByteOrder.nativeOrder()).getLong())
        .isEqualTo(memory);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aKernelTouchesAPeersMemoryOnlyWhenThatIsEnabled() {
    long kernel = kernel("f", "extern \"C\" __global__ void f(int* p) { *p = 1; }");
    long stream = cuda.stream();
    long first = cuda.get("cuCtxGetCurrent");
    long second = cuda.retain(1);
    cuda.must("cuCtxSetCurrent", second);
    long memory = cuda.allocate(4);
    cuda.must("cuCtxSetCurrent", first);
    cuda.must("cuCtxEnablePeerAccess", second, 0);
    assertThat(launch(kernel, stream, 1, 1, 0, memory)).isZero();
    cuda.synchronize(stream);
    assertThat(cuda.read(memory, 4)).containsExactly(1, 0, 0, 0);
    cuda.must("cuCtxDisablePeerAccess", second);
    assertThat(launch(kernel, stream, 1, 1, 0, memory)).isZero();
    assertThat(cuda.call("cuStreamSynchronize", stream)).isEqualTo(Driver.ILLEGAL_ADDRESS);
    assertThat(simulation.violations()).singleElement().asString().contains("may not touch");
  }

  private void assertUnreachable(long kernel, long stream, long memory) {
    assertThat(launch(kernel, stream, 1, 1, 0, memory)).isZero();
    assertThat(cuda.call("cuStreamSynchronize", stream)).isEqualTo(Driver.ILLEGAL_ADDRESS);
    assertThat(simulation.violations()).singleElement().asString().contains("may not touch");
  }

  @Test
  void aKernelDoesNotTouchPlainMemoryOfAnotherContextOfItsDevice() {
    long memory = cuda.allocate(4);
    long own = cuda.get("cuCtxCreate_v2", 0, 0);
    long kernel = kernel("f", "extern \"C\" __global__ void f(int* p) { *p = 1; }");
    assertUnreachable(kernel, cuda.stream(), memory);
    cuda.must("cuCtxDestroy_v2", own);
  }

  @Test
  void aKernelDoesNotTouchWriteCombinedMemoryAtItsAddressOfTheHost() {
    long kernel = kernel("f", "extern \"C\" __global__ void f(int* p) { *p = 1; }");
    assertUnreachable(kernel, cuda.stream(), cuda.get("cuMemHostAlloc", 4L, 4));
  }

  @Test
  void aKernelTouchesRegisteredMemoryAtItsAddressOfTheHostWhereTheDeviceSaysSo() {
    simulation.set(0, "attribute.91", 0);
    long kernel = kernel("f", "extern \"C\" __global__ void f(int* p) { *p = 1; }");
    MemorySegment memory = arena.allocate(4);
    cuda.must("cuMemHostRegister_v2", memory, 4L, 0);
    assertUnreachable(kernel, cuda.stream(), memory.address());
  }

  @Test
  void aModuleIsNotUnloadedBeforeItsLaunchesHaveEnded() {
    simulation.set(0, "latency_ns", 200_000_000);
    long module = load(compile("extern \"C\" __global__ void f(int* p) { *p = 1; }").ptx());
    long kernel = cuda.get("cuModuleGetFunction", module, Driver.text(arena, "f"));
    long stream = cuda.stream();
    assertThat(launch(kernel, stream, 1, 1, 0, cuda.allocate(4))).isZero();
    cuda.must("cuModuleUnload", module);
    assertThat(simulation.violations()).singleElement().asString().contains("1 launches");
    cuda.synchronize(stream);
  }
}
