package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.host.CacheFolder;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.c.CudaC;
import dev.tidepool.methods.c.MethodGenerator;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Expressions and hand-written kernels on a device. */
@ExtendWith(NothingLeaks.class)
class KernelTest {
  private static final ValueLayout.OfFloat FLOATS = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfLong LONGS = ValueLayout.JAVA_LONG_UNALIGNED;

  private static final List<KernelParameter> AXPY =
      List.of(
          KernelParameter.inout("y", ElementType.FLOAT),
          KernelParameter.scalar("a", ElementType.DOUBLE),
          KernelParameter.in("x", ElementType.FLOAT));

  private static final KernelParameter[] TRACE_PARAMETERS = {
    KernelParameter.out("out", ElementType.LONG),
    KernelParameter.scalar("width", ElementType.INT),
    KernelParameter.scalar("height", ElementType.INT)
  };

  private static final String TRACE =
      """
      extern "C" __global__ void trace(long long *out, int width, int height) {
        long long x = (long long)blockIdx.x * blockDim.x + threadIdx.x;
        long long y = (long long)blockIdx.y * blockDim.y + threadIdx.y;
        long long z = (long long)blockIdx.z * blockDim.z + threadIdx.z;
        out[x + width * (y + height * z)] = 1 + x + width * (y + height * z);
      }
      """;

  private static void launch(
      Queue queue, Program program, LaunchRange range, List<KernelArgument> arguments) {
    Bytes.await(queue.launch(new Launch(program, arguments, range)));
  }

  @Test
  void parametersThatTheCodeDoesNotHaveAreRefused() {
    Simulation.with(1);
    try (Device device = Simulation.devices().getFirst()) {
      assertThatThrownBy(
              () ->
                  device.compile(
                      KernelSource.cuda(TRACE, "trace", TRACE_PARAMETERS[0], TRACE_PARAMETERS[1]),
                      List.of()))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("kernel 'trace' takes 3 parameters of [8, 4, 4] bytes")
          .hasMessageContaining("but 2 were declared: [out, width]; declare each");
      assertThatThrownBy(
              () ->
                  device.compile(
                      KernelSource.cuda(
                          TRACE,
                          "trace",
                          TRACE_PARAMETERS[0],
                          KernelParameter.scalar("width", ElementType.LONG),
                          TRACE_PARAMETERS[2]),
                      List.of()))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("parameter 1 of kernel 'trace' has 4 bytes in its code")
          .hasMessageContaining("'width' was declared as a scalar of LONG");
      assertThatThrownBy(
              () ->
                  device.compile(
                      KernelSource.cuda(
                          TRACE,
                          "trace",
                          TRACE_PARAMETERS[0],
                          KernelParameter.in("width", ElementType.INT),
                          TRACE_PARAMETERS[2]),
                      List.of()))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("'width' was declared as an array of INT");
    }
  }

  static void picked(int i, int[] places, float[] from, float[] to) {
    to[i] = from[places[i]];
  }

  /** A read to pageable memory would hold up the thread that submits it until the kernel ends. */
  @Test
  void aJavaMethodIsSubmittedWithoutAWaitForWhatFailsInIt() {
    SimulatedCuda simulated = Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      Kernel kernel = memory.compile(KernelSource.method(MethodHandles.lookup(), "picked"));
      try (UnifiedBuffer<int[]> places = memory.copyOf(new int[] {2, 0, 1});
          UnifiedBuffer<float[]> from = memory.copyOf(new float[] {1, 2, 3});
          UnifiedBuffer<float[]> to = memory.allocate(ElementType.FLOAT, 3)) {
        Arguments arguments = Arguments.of("places", places, "from", from, "to", to);
        simulated.forget();
        kernel.executeAsync(arguments).join();
        kernel.execute(arguments);
        assertThat(simulated.calls("cuMemcpyDtoHAsync_v2")).as("reads of what failed").isEqualTo(2);
        assertThat(simulated.notes()).isEmpty();
        float[] picked = new float[3];
        to.copyTo(picked);
        assertThat(picked).containsExactly(3, 1, 2);
        assertThatThrownBy(
                () -> kernel.execute(arguments, LaunchRange.of(1 << 20).inGroupsOf(1 << 20)))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("too large for kernel 'dev.tidepool.cuda.KernelTest.picked' on ");
      }
    }
  }

  /** Drivers before CUDA 12.4 do not tell what parameters a kernel has. */
  @Test
  void whatAKernelReadsBehindAValueIsZero() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.fail("cuFuncGetParamInfo", 1, ErrorCodes.CUDA_ERROR_NOT_SUPPORTED, -1);
    String source =
        """
        struct Words {
          int words[1000];
        };
        extern "C" __global__ void sum(int* out, const Words read) {
          int all = 0;
          for (int i = 0; i < 1000; i++) all |= read.words[i];
          out[0] = all;
        }
        """;
    try (Device device = Simulation.devices().getFirst();
        Queue queue = device.createQueue();
        Program program =
            device.compile(
                KernelSource.cuda(
                    source,
                    "sum",
                    KernelParameter.out("out", ElementType.INT),
                    KernelParameter.scalar("read", ElementType.INT)),
                List.of())) {
      Block out = device.allocate(4, 64, BlockKind.DEVICE);
      launch(
          queue,
          program,
          LaunchRange.of(1),
          List.of(new KernelArgument.Array(out, 0, 4), new KernelArgument.Scalar(5)));
      assertThat(new Bytes(device, queue).read(out, 0, 4)).containsExactly(5, 0, 0, 0);
      out.free();
    }
  }

  private static byte[] bytes(float... values) {
    byte[] bytes = new byte[values.length * 4];
    MemorySegment.copy(values, 0, MemorySegment.ofArray(bytes), FLOATS, 0, values.length);
    return bytes;
  }

  private static float[] ramp(int count, float step) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = i * step - 3;
    }
    return values;
  }

  /** The last pairs start inside elements, where a device cannot read. */
  @ParameterizedTest
  @CsvSource({
    "0, 0, auto",
    "4, 128, auto",
    "132, 4, auto",
    "3, 5, auto",
    "7, 0, auto",
    "3, 5, plain"
  })
  void slicesAtAnyOffsetAreComputed(int xOffset, int yOffset, String memory) {
    Simulation.with(1);
    int count = 1000;
    try (Device device =
            Simulation.under(
                Map.of("tidepool.cuda.memory", memory), () -> Simulation.devices().getFirst());
        Queue queue = device.createQueue();
        Program axpy = device.compile(KernelSource.elementwise("y = a * x + y"), AXPY)) {
      Bytes transfer = new Bytes(device, queue);
      Block x = device.allocate(8192, 64, BlockKind.DEVICE);
      Block y = device.allocate(8192, 64, BlockKind.DEVICE);
      float[] added = ramp(count, 0.25f);
      float[] before = ramp(count, 1.5f);
      byte[] around = Bytes.pattern(8192, 3);
      transfer.write(around, y, 0);
      transfer.write(bytes(added), x, xOffset);
      transfer.write(bytes(before), y, yOffset);
      launch(
          queue,
          axpy,
          LaunchRange.of(count),
          List.of(
              new KernelArgument.Array(y, yOffset, count * 4L),
              new KernelArgument.Scalar(2.5f),
              new KernelArgument.Array(x, xOffset, count * 4L)));
      float[] expected = new float[count];
      for (int i = 0; i < count; i++) {
        expected[i] = 2.5f * added[i] + before[i];
      }
      System.arraycopy(bytes(expected), 0, around, yOffset, count * 4);
      assertThat(transfer.read(y, 0, 8192)).isEqualTo(around);
      x.free();
      y.free();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 255, 256, 257, 1025, 99_991})
  void everyElementIsComputedAndNoneBeyond(int count) {
    List<KernelParameter> parameters = List.of(KernelParameter.inout("y", ElementType.FLOAT));
    try (Device device = Simulation.device();
        Queue queue = device.createQueue();
        Program twice = device.compile(KernelSource.elementwise("y = y + y"), parameters)) {
      Bytes transfer = new Bytes(device, queue);
      Block y = device.allocate((count + 10) * 4L, 64, BlockKind.DEVICE);
      float[] values = ramp(count + 10, 0.5f);
      transfer.write(bytes(values), y, 0);
      launch(
          queue, twice, LaunchRange.of(count), List.of(new KernelArgument.Array(y, 0, count * 4L)));
      for (int i = 0; i < count; i++) {
        values[i] += values[i];
      }
      assertThat(transfer.read(y, 0, (count + 10) * 4)).isEqualTo(bytes(values));
      y.free();
    }
  }

  @Test
  void theFourOperationsAndSquareRootsAreExact() {
    int count = 20_000;
    List<KernelParameter> parameters =
        List.of(
            KernelParameter.in("x", ElementType.FLOAT),
            KernelParameter.in("y", ElementType.FLOAT),
            KernelParameter.out("q", ElementType.FLOAT),
            KernelParameter.out("r", ElementType.FLOAT),
            KernelParameter.out("s", ElementType.FLOAT));
    float[] x = ramp(count, 0.37f);
    float[] y = ramp(count, -0.11f);
    float[] q = new float[count];
    float[] r = new float[count];
    float[] s = new float[count];
    for (int i = 0; i < count; i++) {
      q[i] = x[i] / y[i];
      r[i] = (float) Math.sqrt(Math.abs(x[i]));
      s[i] = x[i] * y[i] + x[i] - y[i];
    }
    try (Device device = Simulation.device();
        Queue queue = device.createQueue();
        Program program =
            device.compile(
                KernelSource.elementwise("q = x / y; r = sqrt(abs(x)); s = x * y + x - y"),
                parameters)) {
      Bytes transfer = new Bytes(device, queue);
      List<Block> blocks =
          parameters.stream().map(p -> device.allocate(count * 4L, 64, BlockKind.DEVICE)).toList();
      transfer.write(bytes(x), blocks.get(0), 0);
      transfer.write(bytes(y), blocks.get(1), 0);
      launch(
          queue,
          program,
          LaunchRange.of(count),
          blocks.stream()
              .<KernelArgument>map(b -> new KernelArgument.Array(b, 0, count * 4L))
              .toList());
      assertThat(transfer.read(blocks.get(2), 0, count * 4)).isEqualTo(bytes(q));
      assertThat(transfer.read(blocks.get(3), 0, count * 4)).isEqualTo(bytes(r));
      assertThat(transfer.read(blocks.get(4), 0, count * 4)).isEqualTo(bytes(s));
      blocks.forEach(Block::free);
    }
  }

  @Test
  void aRangeHasThreeDimensionsInGroupsOrInThoseThatFit() {
    try (Device device = Simulation.device();
        Queue queue = device.createQueue();
        Program trace =
            device.compile(KernelSource.cuda(TRACE, "trace", TRACE_PARAMETERS), List.of())) {
      for (LaunchRange range :
          List.of(
              LaunchRange.of(4, 6, 5).inGroupsOf(2, 3, 5),
              LaunchRange.of(4, 6, 5),
              // A prime: no group of several divides it.
              LaunchRange.of(257, 3),
              LaunchRange.of(1024))) {
        int items = (int) range.items();
        Block out = device.allocate(items * 8L, 64, BlockKind.DEVICE);
        Bytes.await(queue.fill(out, 0, items * 8L, (byte) 0));
        int width = range.global().getFirst().intValue();
        int height = range.global().size() > 1 ? range.global().get(1).intValue() : 1;
        launch(
            queue,
            trace,
            range,
            List.of(
                new KernelArgument.Array(out, 0, items * 8L),
                new KernelArgument.Scalar(width),
                new KernelArgument.Scalar(height)));
        long[] expected = new long[items];
        for (int i = 0; i < items; i++) {
          expected[i] = i + 1L;
        }
        byte[] read = new Bytes(device, queue).read(out, 0, items * 8);
        assertThat(MemorySegment.ofArray(read).toArray(LONGS)).as("%s", range).isEqualTo(expected);
        out.free();
      }
    }
  }

  @Test
  void aGroupSharesLocalMemory() {
    String source =
        """
        extern "C" __global__ void sums(const float *x, float *sums) {
          extern __shared__ float scratch[];
          scratch[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
          __syncthreads();
          if (threadIdx.x == 0) {
            float sum = 0;
            for (int i = 0; i < blockDim.x; i++) sum += scratch[i];
            sums[blockIdx.x] = sum;
          }
        }
        """;
    try (Device device = Simulation.device();
        Queue queue = device.createQueue();
        Program sums =
            device.compile(
                KernelSource.cuda(
                    source,
                    "sums",
                    KernelParameter.in("x", ElementType.FLOAT),
                    KernelParameter.out("sums", ElementType.FLOAT)),
                List.of())) {
      Bytes transfer = new Bytes(device, queue);
      Block x = device.allocate(64 * 4, 64, BlockKind.DEVICE);
      Block out = device.allocate(8 * 4, 64, BlockKind.DEVICE);
      float[] values = ramp(64, 1);
      float[] expected = new float[8];
      for (int i = 0; i < 64; i++) {
        expected[i / 8] += values[i];
      }
      transfer.write(bytes(values), x, 0);
      LaunchRange range = LaunchRange.of(64).inGroupsOf(8).withLocalMemory(32);
      List<KernelArgument> arguments =
          List.of(new KernelArgument.Array(x, 0, 256), new KernelArgument.Array(out, 0, 32));
      launch(queue, sums, range, arguments);
      assertThat(transfer.read(out, 0, 32)).isEqualTo(bytes(expected));

      assertThatThrownBy(
              () -> queue.launch(new Launch(sums, arguments, range.withLocalMemory(1 << 30))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("of local memory were asked for");
      assertThatThrownBy(
              () ->
                  queue.launch(
                      new Launch(sums, arguments, LaunchRange.of(1 << 20).inGroupsOf(1 << 20))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("too large for kernel 'sums'");
      assertThatThrownBy(
              () -> queue.launch(new Launch(sums, arguments.subList(0, 1), LaunchRange.of(64))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("takes 2 arguments, not 1");
      x.free();
      out.free();
    }
  }

  @Test
  void aGroupMayShareAllThatTheDeviceHasNotOnlyWhatEveryKernelGets() {
    int bytes = 96 << 10;
    String source =
        """
        extern "C" __global__ void last(int *out, int count) {
          extern __shared__ int scratch[];
          scratch[count - 1] = 7;
          out[0] = scratch[count - 1];
        }
        """;
    try (Device device = Simulation.device();
        Queue queue = device.createQueue();
        Program last =
            device.compile(
                KernelSource.cuda(
                    source,
                    "last",
                    KernelParameter.out("out", ElementType.INT),
                    KernelParameter.scalar("count", ElementType.INT)),
                List.of())) {
      Block out = device.allocate(4, 64, BlockKind.DEVICE);
      List<KernelArgument> arguments =
          List.of(new KernelArgument.Array(out, 0, 4), new KernelArgument.Scalar(bytes / 4));
      LaunchRange one = LaunchRange.of(1);
      launch(queue, last, one.withLocalMemory(bytes), arguments);
      assertThat(new Bytes(device, queue).read(out, 0, 1)).containsExactly(7);
      assertThatThrownBy(
              () -> queue.launch(new Launch(last, arguments, one.withLocalMemory((99 << 10) + 1))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("101377 bytes of local memory were asked for")
          .hasMessageContaining("has 101376 for a group of kernel 'last'");
      out.free();
    }
  }

  /** Where no large divisor fits into a small block, one that fits into the largest is taken. */
  @ParameterizedTest
  @CsvSource({
    "1024, 256",
    "1000, 250",
    "257, 257",
    "1021, 1021",
    // Twice a prime that no block holds.
    "4034, 2"
  })
  void aRangeWithoutGroupsGetsTheLargestThatDivideIt(int items, int expected) {
    String source =
        """
        extern "C" __global__ void size(int *out) {
          out[0] = blockDim.x;
        }
        """;
    try (Device device = Simulation.device();
        Queue queue = device.createQueue();
        Program size =
            device.compile(
                KernelSource.cuda(source, "size", KernelParameter.out("out", ElementType.INT)),
                List.of())) {
      Block out = device.allocate(4, 64, BlockKind.DEVICE);
      launch(queue, size, LaunchRange.of(items), List.of(new KernelArgument.Array(out, 0, 4)));
      byte[] read = new Bytes(device, queue).read(out, 0, 4);
      assertThat(MemorySegment.ofArray(read).get(ValueLayout.JAVA_INT_UNALIGNED, 0))
          .isEqualTo(expected);
      out.free();
    }
  }

  @Test
  void aCompilerThatIsNewerThanTheDriverMakesTheDevicesOwnCodeAlone() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "driver_version", 12_040);
    try (Device device = Simulation.devices().getFirst();
        Program known = device.compile(KernelSource.elementwise("y = a * x + y"), AXPY)) {
      assertThat(known).isNotNull();
    }
    // Between two that the compiler knows.
    simulated.set(0, "compute_capability", 81);
    try (Device device = Simulation.devices().getFirst()) {
      assertThatThrownBy(() -> device.compile(KernelSource.elementwise("y = a * x + y"), AXPY))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("NVRTC 13.0 does not know compute capability 8.1")
          .hasMessageContaining("install NVRTC 12");
    }
  }

  @Test
  void compiledCodeRunsAsText() {
    try (Device device = Simulation.device();
        Queue queue = device.createQueue()) {
      byte[] image = ((CudaDevice) device).compiler().compile("trace", TRACE, List.of());
      try (Program trace =
          device.compile(KernelSource.cuda(image, "trace", TRACE_PARAMETERS), List.of())) {
        Block out = device.allocate(80, 64, BlockKind.DEVICE);
        launch(
            queue,
            trace,
            LaunchRange.of(10),
            List.of(
                new KernelArgument.Array(out, 0, 80),
                new KernelArgument.Scalar(10),
                new KernelArgument.Scalar(1)));
        byte[] read = new Bytes(device, queue).read(out, 0, 80);
        assertThat(MemorySegment.ofArray(read).toArray(LONGS))
            .containsExactly(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        out.free();
      }
    }
  }

  @Test
  void ptxRunsAsItIsWritten() {
    SimulatedCuda simulated = Simulation.with(1);
    // For a device that the compiler does not know it makes the text.
    byte[] text = new Compiler(81, new CacheFolder(null)).compile("trace", TRACE, List.of());
    String ptx = new String(text, StandardCharsets.ISO_8859_1);
    assertThat(ptx).contains(".version", ".target sm_80");
    simulated.forget();
    try (Device device = Simulation.devices().getFirst();
        Queue queue = device.createQueue();
        Program trace =
            device.compile(KernelSource.cuda(ptx, "trace", TRACE_PARAMETERS), List.of())) {
      Block out = device.allocate(24, 64, BlockKind.DEVICE);
      launch(
          queue,
          trace,
          LaunchRange.of(3),
          List.of(
              new KernelArgument.Array(out, 0, 24),
              new KernelArgument.Scalar(3),
              new KernelArgument.Scalar(1)));
      byte[] read = new Bytes(device, queue).read(out, 0, 24);
      assertThat(MemorySegment.ofArray(read).toArray(LONGS)).containsExactly(1, 2, 3);
      out.free();
    }
    assertThat(simulated.calls("nvrtcCreateProgram")).isZero();
  }

  @Test
  void codeThatIsNoneIsACompilationError() {
    try (Device device = Simulation.device()) {
      assertThatThrownBy(
              () -> device.compile(KernelSource.cuda(new byte[] {1, 2, 3}, "f"), List.of()))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("cuda:0")
          .hasMessageContaining("CUDA_ERROR_");
      assertThatThrownBy(
              () -> device.compile(KernelSource.cuda(".version 8.0\n.nonsense", "f"), List.of()))
          .isInstanceOf(KernelCompilationException.class);
    }
  }

  @Test
  void aSourceThatDoesNotCompileIsAnErrorWithTheLogAndTheLine() {
    try (Device device = Simulation.device()) {
      KernelSource wrong =
          KernelSource.cuda("extern \"C\" __global__ void f() {\n  missing();\n}\n", "f");
      assertThatThrownBy(() -> device.compile(wrong, List.of()))
          .isInstanceOfSatisfying(
              KernelCompilationException.class,
              failure -> {
                assertThat(failure.log()).contains("missing");
                assertThat(failure.getMessage()).contains("'f'").containsPattern("[(:]2[):]");
              });
    }
  }

  @Test
  void aMissingEntryIsAnErrorThatSaysWhatToWrite() {
    try (Device device = Simulation.device()) {
      assertThatThrownBy(() -> device.compile(KernelSource.cuda(TRACE, "traces"), List.of()))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("'traces'")
          .hasMessageContaining("extern \"C\" __global__ void");
    }
  }

  @Test
  void otherLanguagesAreNamed() {
    try (Device device = Simulation.device()) {
      assertThatThrownBy(
              () -> device.compile(KernelSource.opencl("__kernel void f() {}", "f"), List.of()))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("not the OpenCL kernel f");
    }
  }

  @Test
  void whatWasCompiledOnceIsFoundOnDiskUnlessItIsForAnotherArchitecture() {
    // No other test has this text.
    KernelSource source = KernelSource.elementwise("y = a * x + y + 0.001953125");
    SimulatedCuda simulated = Simulation.with(2);
    simulated.set(1, "compute_capability", 86);
    List<Device> devices = Simulation.devices();
    try (Device older = devices.get(0);
        Device newer = devices.get(1)) {
      older.compile(source, AXPY).close();
      assertThat(KernelCache.ofThisUser().path()).isNotNull().isNotEmptyDirectory();
      assertThat(simulated.calls("nvrtcCompileProgram")).isOne();
      older.compile(source, AXPY).close();
      assertThat(simulated.calls("nvrtcCompileProgram")).isOne();
      newer.compile(source, AXPY).close();
      assertThat(simulated.calls("nvrtcCompileProgram")).isEqualTo(2);
      older.compile(source, AXPY).close();
      newer.compile(source, AXPY).close();
      assertThat(simulated.calls("nvrtcCompileProgram")).isEqualTo(2);
      assertThat(simulated.calls("cuModuleLoadDataEx")).isEqualTo(5);
    }
  }

  @Test
  void whateverTheCompilerFailsAtIsNamedAndNothingIsLeftOrKept(@TempDir Path folder)
      throws IOException {
    SimulatedCuda simulated = Simulation.with(1);
    Compiler compiler = new Compiler(80, new CacheFolder(folder));
    for (String function :
        List.of(
            "nvrtcVersion",
            "nvrtcGetNumSupportedArchs",
            "nvrtcGetSupportedArchs",
            "nvrtcCreateProgram",
            "nvrtcCompileProgram",
            "nvrtcGetCUBINSize",
            "nvrtcGetCUBIN")) {
      // NVRTC_ERROR_OUT_OF_MEMORY
      simulated.fail(function, 1, 1);
      assertThatThrownBy(() -> compiler.compile("trace", TRACE, List.of()))
          .as(function)
          .isInstanceOf(AcceleratorException.class)
          .hasMessageContaining("NVRTC_ERROR_OUT_OF_MEMORY");
      assertThat(simulated.leaks()).as(function).isEmpty();
    }
    try (Stream<Path> kept = Files.list(folder)) {
      assertThat(kept).isEmpty();
    }
    assertThat(compiler.compile("trace", TRACE, List.of())).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"nvrtcGetProgramLogSize", "nvrtcGetProgramLog"})
  void aSourceIsRefusedAlsoWhereTheLogCannotBeRead(String function, @TempDir Path folder) {
    SimulatedCuda simulated = Simulation.with(1);
    Compiler compiler = new Compiler(80, new CacheFolder(folder));
    String wrong = "extern \"C\" __global__ void f() { missing(); }";
    simulated.fail(function, 1, 1);
    assertThatThrownBy(() -> compiler.compile("f", wrong, List.of()))
        .isInstanceOfSatisfying(
            KernelCompilationException.class,
            refused -> assertThat(refused.log()).contains("NVRTC_ERROR_OUT_OF_MEMORY"));
    assertThat(simulated.leaks()).isEmpty();
  }

  static void ownOfItem(WorkItem item, int[] y) {
    int[] own = new int[131_072];
    own[0] = 1;
    y[0] = own[0];
  }

  static void sharedByGroup(WorkItem item, int[] y) {
    int[] shared = item.localInts(12_289);
    shared[0] = 1;
    y[0] = shared[0];
  }

  @ParameterizedTest
  @CsvSource({
    "ownOfItem, new int[131072] is too large, may have 512000",
    "sharedByGroup, local ints(12289) is too large, may have 49152"
  })
  void arraysOfJavaKernelsHaveToFit(String name, String what, String most) {
    assertThatThrownBy(
            () ->
                MethodGenerator.generate(
                    MethodReader.read(KernelSource.method(MethodHandles.lookup(), name)),
                    new CudaC(),
                    MethodProgram.limits("cuda:0"),
                    true))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContainingAll("KernelTest." + name + ", line ", what + " for cuda:0", most);
  }
}
