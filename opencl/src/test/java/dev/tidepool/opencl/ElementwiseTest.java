package dev.tidepool.opencl;

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
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Expressions on OpenCL devices. */
@ExtendWith(NothingLeaks.class)
class ElementwiseTest {
  private static final ValueLayout.OfFloat FLOATS = ValueLayout.JAVA_FLOAT_UNALIGNED;

  private static byte[] bytes(float[] values) {
    byte[] bytes = new byte[values.length * 4];
    MemorySegment.copy(values, 0, MemorySegment.ofArray(bytes), FLOATS, 0, values.length);
    return bytes;
  }

  private static float[] floats(Queue queue, Block block, long offset, int count) {
    return MemorySegment.ofArray(Bytes.read(queue, block, offset, count * 4)).toArray(FLOATS);
  }

  private static float[] random(int count, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) random.nextDouble(-10, 10);
    }
    return values;
  }

  private static final List<KernelParameter> AXPY =
      List.of(
          KernelParameter.inout("y", ElementType.FLOAT),
          KernelParameter.scalar("a", ElementType.DOUBLE),
          KernelParameter.in("x", ElementType.FLOAT));

  @ParameterizedTest
  @EnumSource
  void slicesAtAnyOffsetAreComputedInPlace(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue();
        Program axpy = device.compile(KernelSource.elementwise("y = a * x + y"), AXPY)) {
      int count = 1000;
      // The last pair starts inside elements.
      for (long[] offsets : new long[][] {{0, 0}, {4, 128}, {132, 4}, {3, 5}}) {
        Block x = device.allocate(8192, 64, BlockKind.DEVICE);
        Block y = device.allocate(8192, 64, BlockKind.DEVICE);
        float[] before = random(count, 1);
        float[] added = random(count, 2);
        byte[] around = Bytes.pattern(8192, 3);
        Bytes.write(queue, around, y, 0);
        Bytes.write(queue, bytes(added), x, offsets[0]);
        Bytes.write(queue, bytes(before), y, offsets[1]);
        Bytes.await(
            queue.launch(
                new Launch(
                    axpy,
                    List.of(
                        new KernelArgument.Array(y, offsets[1], count * 4L),
                        new KernelArgument.Scalar(2.5f),
                        new KernelArgument.Array(x, offsets[0], count * 4L)),
                    LaunchRange.of(count))));
        float[] expected = new float[count];
        for (int i = 0; i < count; i++) {
          expected[i] = 2.5f * added[i] + before[i];
        }
        System.arraycopy(bytes(expected), 0, around, (int) offsets[1], count * 4);
        assertThat(Bytes.read(queue, y, 0, 8192)).isEqualTo(around);
        x.free();
        y.free();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 255, 256, 1023, 1024, 1025, 99_991})
  void everyElementIsComputedAndNoneBeyond(int count) {
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue();
        Program axpy = device.compile(KernelSource.elementwise("y = a * x + y"), AXPY)) {
      Block y = device.allocate((count + 10) * 4L, 64, BlockKind.DEVICE);
      Bytes.write(queue, bytes(random(count + 10, 4)), y, 0);
      float[] expected = random(count + 10, 4);
      for (int i = 0; i < count; i++) {
        expected[i] = 3 * expected[i];
      }
      Bytes.await(
          queue.launch(
              new Launch(
                  axpy,
                  List.of(
                      new KernelArgument.Array(y, 0, count * 4L),
                      new KernelArgument.Scalar(2L),
                      new KernelArgument.Array(y, 0, count * 4L)),
                  LaunchRange.of(count))));
      float[] computed = floats(queue, y, 0, count + 10);
      for (int i = 0; i < count; i++) {
        assertThat(computed[i])
            .isCloseTo(expected[i], org.assertj.core.data.Percentage.withPercentage(0.001));
      }
      for (int i = count; i < count + 10; i++) {
        assertThat(computed[i]).isEqualTo(expected[i]);
      }
      y.free();
    }
  }

  @Test
  void theFourOperationsAndSquareRootsAreExact() {
    List<KernelParameter> parameters =
        List.of(
            KernelParameter.in("x", ElementType.FLOAT),
            KernelParameter.in("y", ElementType.FLOAT),
            KernelParameter.out("q", ElementType.FLOAT),
            KernelParameter.out("r", ElementType.FLOAT),
            KernelParameter.out("s", ElementType.FLOAT));
    int count = 100_000;
    float[] x = random(count, 5);
    float[] y = random(count, 6);
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue();
        Program program =
            device.compile(
                KernelSource.elementwise("q = x / y; r = sqrt(abs(x)); s = x * y + x - y"),
                parameters)) {
      List<Block> blocks =
          parameters.stream().map(p -> device.allocate(count * 4L, 64, BlockKind.DEVICE)).toList();
      Bytes.write(queue, bytes(x), blocks.get(0), 0);
      Bytes.write(queue, bytes(y), blocks.get(1), 0);
      Bytes.await(
          queue.launch(
              new Launch(
                  program,
                  blocks.stream()
                      .<KernelArgument>map(b -> new KernelArgument.Array(b, 0, count * 4L))
                      .toList(),
                  LaunchRange.of(count))));
      float[] q = floats(queue, blocks.get(2), 0, count);
      float[] r = floats(queue, blocks.get(3), 0, count);
      float[] s = floats(queue, blocks.get(4), 0, count);
      for (int i = 0; i < count; i++) {
        assertThat(q[i]).isEqualTo(x[i] / y[i]);
        assertThat(r[i]).isEqualTo((float) Math.sqrt(Math.abs(x[i])));
        assertThat(s[i]).isEqualTo(x[i] * y[i] + x[i] - y[i]);
      }
      blocks.forEach(Block::free);
    }
  }

  @Test
  void functionsOfFloatsAreWithinTwoUlp() {
    String[] functions = {"exp(x)", "sin(x)", "cos(x)", "tanh(x)", "atan(x)", "cbrt(x)"};
    java.util.function.DoubleUnaryOperator[] exact = {
      StrictMath::exp,
      StrictMath::sin,
      StrictMath::cos,
      StrictMath::tanh,
      StrictMath::atan,
      StrictMath::cbrt
    };
    int count = 10_000;
    float[] x = random(count, 7);
    List<KernelParameter> parameters =
        List.of(
            KernelParameter.in("x", ElementType.FLOAT),
            KernelParameter.out("y", ElementType.FLOAT));
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue()) {
      Block in = device.allocate(count * 4L, 64, BlockKind.DEVICE);
      Block out = device.allocate(count * 4L, 64, BlockKind.DEVICE);
      Bytes.write(queue, bytes(x), in, 0);
      for (int f = 0; f < functions.length; f++) {
        try (Program program =
            device.compile(KernelSource.elementwise("y = " + functions[f]), parameters)) {
          Bytes.await(
              queue.launch(
                  new Launch(
                      program,
                      List.of(
                          new KernelArgument.Array(in, 0, count * 4L),
                          new KernelArgument.Array(out, 0, count * 4L)),
                      LaunchRange.of(count))));
        }
        float[] y = floats(queue, out, 0, count);
        for (int i = 0; i < count; i++) {
          float expected = (float) exact[f].applyAsDouble(x[i]);
          assertThat((double) Math.abs(y[i] - expected))
              .as("%s at %s", functions[f], x[i])
              .isLessThanOrEqualTo(2.0 * Math.ulp(expected));
        }
      }
      in.free();
      out.free();
    }
  }

  @Test
  void aWrongExpressionIsACompilationErrorThatShowsTheColumn() {
    try (Device device = Pocl.device(Map.of())) {
      assertThatThrownBy(() -> device.compile(KernelSource.elementwise("y = x +* 2"), AXPY))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("^");
    }
  }

  @Test
  void tooFewElementsAreAnErrorWithBothNumbers() {
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue();
        Program axpy = device.compile(KernelSource.elementwise("y = a * x + y"), AXPY)) {
      Block block = device.allocate(4096, 64, BlockKind.DEVICE);
      KernelArgument.Array array = new KernelArgument.Array(block, 0, 40);
      assertThatThrownBy(
              () ->
                  queue.launch(
                      new Launch(
                          axpy,
                          List.of(array, new KernelArgument.Scalar(1.0), array),
                          LaunchRange.of(11))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("10")
          .hasMessageContaining("11");
      block.free();
    }
  }
}
