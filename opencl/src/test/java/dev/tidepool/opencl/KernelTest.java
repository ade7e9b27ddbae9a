package dev.tidepool.opencl;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Kernels that users write in OpenCL C. */
@ExtendWith(NothingLeaks.class)
class KernelTest {
  private static final int COUNT = 1000;

  private static final KernelSource.OpenCl ADD =
      opencl(
          """
          __kernel void add(__global const float* x, __global float* y, float a) {
            size_t i = get_global_id(0);
            y[i] = x[i] + a;
          }
          """,
          "add",
          KernelParameter.in("x", ElementType.FLOAT),
          KernelParameter.out("y", ElementType.FLOAT),
          KernelParameter.scalar("a", ElementType.FLOAT));

  private static final KernelSource.OpenCl INCREMENT =
      opencl(
          "__kernel void inc(__global int* y) { y[get_global_id(0)] += 1; }",
          "inc",
          KernelParameter.inout("y", ElementType.INT));

  private static KernelSource.OpenCl opencl(
      String source, String entry, KernelParameter... parameters) {
    return (KernelSource.OpenCl) KernelSource.opencl(source, entry, parameters);
  }

  private static Program compile(Device device, KernelSource.OpenCl source) {
    return device.compile(source, source.parameters());
  }

  private static KernelArgument.Array array(Block block, long offset, long bytes) {
    return new KernelArgument.Array(block, offset, bytes);
  }

  private static void launch(
      Queue queue, Program program, LaunchRange range, List<KernelArgument> arguments) {
    Bytes.await(queue.launch(new Launch(program, arguments, range)));
  }

  private static byte[] floats(int count, float start) {
    byte[] bytes = new byte[count * 4];
    MemorySegment segment = MemorySegment.ofArray(bytes);
    for (int i = 0; i < count; i++) {
      segment.set(JAVA_FLOAT.withByteAlignment(1), i * 4L, start + i);
    }
    return bytes;
  }

  @ParameterizedTest
  @EnumSource
  void slicesAtAnyOffsetAreValidArguments(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue();
        Program add = compile(device, ADD)) {
      for (long from : new long[] {0, 4, 12, 128, 132, 512}) {
        for (long to : new long[] {0, 4, 128, 260}) {
          long bytes = COUNT * 4L;
          Block x = device.allocate(bytes + 1024, 64, BlockKind.DEVICE);
          Block y = device.allocate(bytes + 1024, 64, BlockKind.DEVICE);
          Bytes.write(queue, floats(COUNT, 1), x, from);
          byte[] around = Bytes.pattern((int) y.byteSize(), to);
          Bytes.write(queue, around, y, 0);
          launch(
              queue,
              add,
              LaunchRange.of(COUNT),
              List.of(array(x, from, bytes), array(y, to, bytes), new KernelArgument.Scalar(0.5)));
          System.arraycopy(floats(COUNT, 1.5f), 0, around, (int) to, (int) bytes);
          assertThat(Bytes.read(queue, y, 0, around.length))
              .as("from %s to %s", from, to)
              .isEqualTo(around);
          x.free();
          y.free();
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void twoSlicesOfOneBlockAreArgumentsOfOneKernel(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue();
        Program add = compile(device, ADD)) {
      for (long second : new long[] {COUNT * 4L, 4096, 4100}) {
        Block block = device.allocate(second + COUNT * 4L, 64, BlockKind.DEVICE);
        Bytes.write(queue, floats(COUNT, 7), block, 0);
        launch(
            queue,
            add,
            LaunchRange.of(COUNT),
            List.of(
                array(block, 0, COUNT * 4L),
                array(block, second, COUNT * 4L),
                new KernelArgument.Scalar(1)));
        assertThat(Bytes.read(queue, block, 0, COUNT * 4)).isEqualTo(floats(COUNT, 7));
        assertThat(Bytes.read(queue, block, second, COUNT * 4)).isEqualTo(floats(COUNT, 8));
        block.free();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void bytesThatStartInsideAnElementAreStaged(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue();
        Program increment = compile(device, INCREMENT)) {
      Block block = device.allocate(4096, 64, BlockKind.DEVICE);
      byte[] expected = Bytes.pattern(4096, 9);
      Bytes.write(queue, expected, block, 0);
      launch(queue, increment, LaunchRange.of(100), List.of(array(block, 3, 400)));
      MemorySegment bytes = MemorySegment.ofArray(expected);
      for (int i = 0; i < 100; i++) {
        long at = 3 + i * 4L;
        bytes.set(
            JAVA_INT.withByteAlignment(1), at, bytes.get(JAVA_INT.withByteAlignment(1), at) + 1);
      }
      assertThat(Bytes.read(queue, block, 0, 4096)).isEqualTo(expected);
      block.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void pinnedMemoryIsAnArgumentToo(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue();
        Program increment = compile(device, INCREMENT)) {
      Block block = device.allocate(64, 64, BlockKind.PINNED);
      block.segment().set(JAVA_INT, 4, 41);
      launch(queue, increment, LaunchRange.of(1), List.of(array(block, 4, 4)));
      assertThat(block.segment().get(JAVA_INT, 4)).isEqualTo(42);
      block.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void anEmptySliceIsAValidArgument(MemoryMode mode) {
    KernelSource.OpenCl source =
        opencl(
            "__kernel void one(__global const int* none, __global int* y) { y[0] = 1; }",
            "one",
            KernelParameter.in("none", ElementType.INT),
            KernelParameter.out("y", ElementType.INT));
    try (Device device = mode.open();
        Queue queue = device.createQueue();
        Program one = compile(device, source)) {
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      launch(queue, one, LaunchRange.of(1), List.of(array(block, 64, 0), array(block, 0, 4)));
      assertThat(Bytes.read(queue, block, 0, 4)).containsExactly(1, 0, 0, 0);
      block.free();
    }
  }

  @Test
  void rangesHaveOneToThreeDimensionsWithGroupsAndLocalMemory() {
    KernelSource.OpenCl source =
        opencl(
            """
            __kernel void where(__global int* y, __local int* shared) {
              size_t group = get_local_size(0) * get_local_size(1) * get_local_size(2);
              size_t local_id = (get_local_id(2) * get_local_size(1) + get_local_id(1))
                  * get_local_size(0) + get_local_id(0);
              shared[local_id] = (int) local_id;
              barrier(CLK_LOCAL_MEM_FENCE);
              size_t i = (get_global_id(2) * get_global_size(1) + get_global_id(1))
                  * get_global_size(0) + get_global_id(0);
              y[i] = (int) (shared[group - 1 - local_id] + 100 * get_work_dim());
            }
            """,
            "where",
            KernelParameter.out("y", ElementType.INT));
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue();
        Program where = compile(device, source)) {
      Block block = device.allocate(8 * 6 * 4 * 4, 64, BlockKind.DEVICE);
      LaunchRange[] ranges = {
        LaunchRange.of(192).inGroupsOf(4),
        LaunchRange.of(8, 24).inGroupsOf(4, 3),
        LaunchRange.of(8, 6, 4).inGroupsOf(2, 3, 2)
      };
      int[] groups = {4, 12, 12};
      for (int dimensions = 1; dimensions <= 3; dimensions++) {
        LaunchRange range = ranges[dimensions - 1].withLocalMemory(groups[dimensions - 1] * 4L);
        launch(queue, where, range, List.of(array(block, 0, block.byteSize())));
        byte[] bytes = Bytes.read(queue, block, 0, (int) block.byteSize());
        int[] values = MemorySegment.ofArray(bytes).toArray(JAVA_INT.withByteAlignment(1));
        assertThat(values).hasSize(192);
        // The first item of the first group reads what the last of its group wrote.
        assertThat(values[0]).isEqualTo(groups[dimensions - 1] - 1 + 100 * dimensions);
      }
      block.free();
    }
  }

  @Test
  void scalarsTakeTheTypeOfTheirParameter() {
    KernelSource.OpenCl source =
        opencl(
            """
            __kernel void every(__global double* y, char b, short s, int i, long l, float f, double d,
                              uchar t, uchar ub, ushort us, uint ui, ulong ul) {
              y[0] = b; y[1] = s; y[2] = i; y[3] = l; y[4] = f; y[5] = d;
              y[6] = t; y[7] = ub; y[8] = us; y[9] = ui; y[10] = ul;
            }
            """,
            "every",
            KernelParameter.out("y", ElementType.DOUBLE),
            KernelParameter.scalar("b", ElementType.BYTE),
            KernelParameter.scalar("s", ElementType.SHORT),
            KernelParameter.scalar("i", ElementType.INT),
            KernelParameter.scalar("l", ElementType.LONG),
            KernelParameter.scalar("f", ElementType.FLOAT),
            KernelParameter.scalar("d", ElementType.DOUBLE),
            KernelParameter.scalar("t", ElementType.BOOLEAN),
            KernelParameter.scalar("ub", ElementType.UNSIGNED_BYTE),
            KernelParameter.scalar("us", ElementType.UNSIGNED_SHORT),
            KernelParameter.scalar("ui", ElementType.UNSIGNED_INT),
            KernelParameter.scalar("ul", ElementType.UNSIGNED_LONG));
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue();
        Program all = compile(device, source)) {
      Block block = device.allocate(88, 64, BlockKind.DEVICE);
      List<KernelArgument> arguments =
          List.of(
              array(block, 0, 88),
              new KernelArgument.Scalar(-1),
              new KernelArgument.Scalar(-2L),
              new KernelArgument.Scalar(-3.9),
              new KernelArgument.Scalar(1L << 40),
              new KernelArgument.Scalar(0.5),
              new KernelArgument.Scalar(0.1),
              new KernelArgument.Scalar(true),
              new KernelArgument.Scalar(255),
              new KernelArgument.Scalar(65535),
              new KernelArgument.Scalar(4294967295L),
              new KernelArgument.Scalar(1L << 62));
      launch(queue, all, LaunchRange.of(1), arguments);
      double[] values =
          MemorySegment.ofArray(Bytes.read(queue, block, 0, 88))
              .toArray(java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED);
      assertThat(values)
          .containsExactly(
              -1, -2, -3, 1L << 40, 0.5, 0.1, 1, 255, 65535, 4294967295.0, (double) (1L << 62));
      block.free();
    }
  }

  @Test
  void manyThreadsLaunchOneProgramWithArgumentsOfTheirOwn() throws Exception {
    int threads = 8;
    try (Device device = Pocl.device(Map.of());
        Program add = compile(device, ADD);
        var pool = Executors.newFixedThreadPool(threads)) {
      CountDownLatch start = new CountDownLatch(threads);
      var results =
          java.util.stream.IntStream.range(0, threads)
              .mapToObj(
                  thread ->
                      pool.submit(
                          () -> {
                            start.countDown();
                            start.await();
                            try (Queue queue = device.createQueue()) {
                              Block x = device.allocate(COUNT * 4L, 64, BlockKind.DEVICE);
                              Block y = device.allocate(COUNT * 4L, 64, BlockKind.DEVICE);
                              Bytes.write(queue, floats(COUNT, thread), x, 0);
                              for (int round = 0; round < 20; round++) {
                                launch(
                                    queue,
                                    add,
                                    LaunchRange.of(COUNT),
                                    List.of(
                                        array(x, 0, COUNT * 4L),
                                        array(y, 0, COUNT * 4L),
                                        new KernelArgument.Scalar(round)));
                                assertThat(Bytes.read(queue, y, 0, COUNT * 4))
                                    .isEqualTo(floats(COUNT, thread + round));
                              }
                              x.free();
                              y.free();
                            }
                            return true;
                          }))
              .toList();
      for (var result : results) {
        assertThat(result.get()).isTrue();
      }
    }
  }

  @Test
  void aSourceThatDoesNotCompileGivesTheCompilersLog() {
    KernelSource.OpenCl broken = opencl("__kernel void broken() { nonsense; }", "broken");
    try (Device device = Pocl.device(Map.of())) {
      assertThatThrownBy(() -> compile(device, broken))
          .isInstanceOfSatisfying(
              KernelCompilationException.class,
              refused -> assertThat(refused.log()).contains("nonsense"))
          .hasMessageContaining("'broken'")
          .hasMessageContaining("CL_BUILD_PROGRAM_FAILURE");
    }
  }

  @Test
  void aMissingEntryIsNamed() {
    KernelSource.OpenCl source = opencl("__kernel void one() { }", "two");
    try (Device device = Pocl.device(Map.of())) {
      assertThatThrownBy(() -> compile(device, source))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("'two'");
    }
  }

  private static final KernelParameter X = KernelParameter.in("x", ElementType.FLOAT);
  private static final KernelParameter Y = KernelParameter.out("y", ElementType.FLOAT);
  private static final KernelParameter N = KernelParameter.scalar("n", ElementType.INT);

  private static void assertRefused(
      String parameters, List<KernelParameter> declared, String... parts) {
    KernelSource.OpenCl source =
        opencl(
            "typedef int own; __kernel void k(" + parameters + ") { }",
            "k",
            declared.toArray(KernelParameter[]::new));
    try (Device device = Pocl.device(Map.of())) {
      assertThatThrownBy(() -> compile(device, source))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageStartingWith("kernel 'k' ")
          .hasMessageContainingAll(parts);
    }
  }

  @Test
  void undeclaredParametersAreCountedAndNamed() {
    assertRefused(
        "__global float *x, int n, float f",
        List.of(X, N),
        "takes 3 parameters in its source (__global float* x, int n, float f)",
        "but 2 were declared (in FLOAT x, scalar INT n)",
        "declare each");
    assertRefused("int a, int b, int c", List.of(), "takes 3 parameters", "but 0 were declared ()");
    assertRefused(
        "__global float *x", List.of(X, N), "takes 1 parameter in", "but 2 were declared");
  }

  @Test
  void localMemoryIsTheLastParameterAndIsNotDeclared() {
    assertRefused(
        "__local float *x, __global float *y",
        List.of(X, Y),
        "has the parameter __local float* x in its source, but parameter 0 was declared as in"
            + " FLOAT",
        "put local memory behind all others");
    try (Device device = Pocl.device(Map.of());
        Program program =
            compile(device, opencl("__kernel void k(int n, __local float *t) { }", "k", N));
        Queue queue = device.createQueue()) {
      assertThatThrownBy(
              () ->
                  launch(queue, program, LaunchRange.of(1), List.of(new KernelArgument.Scalar(1))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("kernel 'k' takes local memory after its 1 declared parameters")
          .hasMessageContaining("withLocalMemory");
    }
  }

  @Test
  void aParameterOfAnotherTypeIsToldWithBoth() {
    assertRefused(
        "__global float *x, long n",
        List.of(X, N),
        "has the parameter long n in its source, but parameter 1 was declared as scalar INT n",
        "declare it LONG");
    assertRefused("float n", List.of(N), "float n", "scalar INT n", "declare it FLOAT");
    assertRefused("uchar n", List.of(N), "uchar n", "declare it UNSIGNED_BYTE");
    assertRefused("int4 n", List.of(N), "int4 n", "pass vectors in an array");
    assertRefused("__global int *n", List.of(N), "__global int* n", "in(), out() or inout()");
    assertRefused("float x", List.of(X), "float x", "declare it by scalar()");
  }

  @Test
  void anArrayOfAnotherTypeIsToldWithBoth() {
    assertRefused(
        "__global const double *x",
        List.of(X),
        "has the parameter __global double* x in its source, but parameter 0 was declared as in"
            + " FLOAT x",
        "declare it DOUBLE");
    assertRefused("__global int *x", List.of(X), "__global int* x", "declare it INT");
    assertRefused("__constant ulong *x", List.of(X), "ulong* x", "declare it UNSIGNED_LONG");
    assertRefused("__global double2 *x", List.of(X), "double2* x", "declare it DOUBLE");
    assertRefused("__global half *x", List.of(X), "half* x", "declare it SHORT");
  }

  @Test
  void vectorsOfTheDeclaredTypeAndTypesThatOnlyTheSourceKnowsAreTakenAsArrays() {
    KernelSource.OpenCl source =
        opencl(
            """
            typedef double own;
            struct pair { double a; double b; };
            __kernel void k(
                __global float4 *vectors,
                __global const volatile float *restrict x,
                __global own *defined,
                __global struct pair *pairs,
                __global void *bytes,
                __global uint *bits,
                __global half *halves) {
            }
            """,
            "k",
            KernelParameter.in("vectors", ElementType.FLOAT),
            X,
            KernelParameter.in("defined", ElementType.FLOAT),
            KernelParameter.in("pairs", ElementType.FLOAT),
            KernelParameter.in("bytes", ElementType.FLOAT),
            KernelParameter.in("bits", ElementType.INT),
            KernelParameter.in("halves", ElementType.SHORT));
    try (Device device = Pocl.device(Map.of());
        Program program = compile(device, source)) {
      assertThat(program).isNotNull();
    }
  }

  @Test
  void aTypeThatOnlyTheSourceKnowsIsTaken() {
    KernelSource.OpenCl source =
        opencl(
            "typedef int own; __kernel void k(own n, uint u, __constant float *x) { }",
            "k",
            N,
            KernelParameter.scalar("u", ElementType.INT),
            X);
    try (Device device = Pocl.device(Map.of());
        Program program = compile(device, source)) {
      assertThat(program).isNotNull();
    }
  }

  @Test
  void groupsThatAreTooLargeAreRefusedWithTheLimit() {
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue();
        Program increment = compile(device, INCREMENT)) {
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      LaunchRange range = LaunchRange.of(1 << 20).inGroupsOf(1 << 20);
      assertThatThrownBy(
              () -> queue.launch(new Launch(increment, List.of(array(block, 0, 64)), range)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("at most");
      block.free();
    }
  }

  @Test
  void otherLanguagesAreNotRunHere() {
    try (Device device = Pocl.device(Map.of())) {
      assertThatThrownBy(() -> device.compile(KernelSource.cuda("void k() {}", "k"), List.of()))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("CUDA");
      assertThatThrownBy(() -> device.compile(KernelSource.java(item -> {}), List.of()))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("Java");
    }
  }

  static void negated(int i, int[] x) {
    x[i] = -x[i];
  }

  @Test
  void onlyAMethodWithChecksReportsFaults() {
    KernelSource.Method method = KernelSource.method(MethodHandles.lookup(), "negated");
    List<KernelParameter> parameters = List.of(KernelParameter.inout("x", ElementType.INT));
    try (Device device = Pocl.device(Map.of());
        Program checked = device.compile(method, parameters);
        Program unchecked = device.compile(method.unchecked(), parameters)) {
      assertThat(checked.reportsFaults()).isTrue();
      assertThat(unchecked.reportsFaults()).isFalse();
    }
  }
}
