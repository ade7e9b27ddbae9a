package dev.tidepool.expression.jvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.tidepool.KernelParameter.Access;
import dev.tidepool.expression.syntax.ScalarKind;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import dev.tidepool.expression.types.TypedProgram;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class CpuLoopTest {
  private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

  @Test
  void whatIsNotInTheRangeIsNotTouched() {
    CpuLoop loop = axpy();
    float[] x = new float[10_000];
    float[] y = new float[10_000];
    Arrays.fill(x, 3);
    Arrays.fill(y, 1);

    loop.run(segments(x, y), new long[] {Float.floatToRawIntBits(2)}, 17, 7777);

    for (int i = 0; i < y.length; i++) {
      assertThat(y[i]).as("element %d", i).isEqualTo(i >= 17 && i < 7777 ? 7f : 1f);
    }
  }

  @Test
  void whatStreamsTouchesOnlyTheRangeAndChecksIt() {
    CpuLoop loop = axpy();
    float[] x = new float[10_000];
    float[] y = new float[10_000];
    Arrays.fill(x, 3);
    Arrays.fill(y, 1);
    long[] two = {Float.floatToRawIntBits(2)};

    loop.stream(segments(x, y), two, 17, 7777);

    for (int i = 0; i < y.length; i++) {
      assertThat(y[i]).as("element %d", i).isEqualTo(i >= 17 && i < 7777 ? 7f : 1f);
    }
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> loop.stream(segments(x, y), two, 1, 0));
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> loop.stream(segments(x, y), two, 0, 10_001));
  }

  @Test
  void simpleLoopsStream() {
    for (String source : List.of("y = 2*x + 1", "y = x", "y = -x", "y = x*y - x")) {
      assertThat(isStreaming(source, ScalarType.FLOAT32)).as(source).isTrue();
      assertThat(isStreaming(source, ScalarType.INT64)).as(source).isTrue();
      assertThat(isStreaming(source, ScalarType.INT16)).as(source).isFalse();
    }
    for (String source : List.of("y = x/3", "y = sqrt(x)", "y = exp(x)", "y = x*x*x*x + 1")) {
      assertThat(isStreaming(source, ScalarType.FLOAT32)).as(source).isFalse();
    }
  }

  private static boolean isStreaming(String source, ScalarType type) {
    TypedProgram program =
        Expression.parse(source)
            .resolve(Map.of("x", Operand.array(type), "y", Operand.array(type)));
    return new LoopPlan(program).isStreaming();
  }

  @Test
  void anEmptyRangeIsLegalAndABackwardOneIsNot() {
    CpuLoop loop = axpy();
    MemorySegment[] none = {MemorySegment.NULL, MemorySegment.NULL};

    loop.run(none, new long[1], 0, 0);

    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> loop.run(none, new long[1], 1, 0));
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> loop.run(segments(new float[9], new float[10]), new long[1], 0, 10));
  }

  @Test
  void nativeMemoryMayBeUnaligned() {
    int n = 5000;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment x = arena.allocate(4L * n + 3).asSlice(3);
      MemorySegment y = arena.allocate(4L * n + 1).asSlice(1);
      for (int i = 0; i < n; i++) {
        x.set(FLOAT, 4L * i, i);
        y.set(FLOAT, 4L * i, -i);
      }

      axpy().run(new MemorySegment[] {x, y}, new long[] {Float.floatToRawIntBits(3)}, 0, n);

      for (int i = 0; i < n; i++) {
        assertThat(y.get(FLOAT, 4L * i)).isEqualTo(2f * i);
      }
    }
  }

  @Test
  void anOutputMayBeAnInputsMemory() {
    float[] x = new float[4097];
    for (int i = 0; i < x.length; i++) {
      x[i] = i;
    }

    new Evaluation("y = x*x").floats("x", x).floats("y", x).run(x.length);

    for (int i = 0; i < x.length; i++) {
      assertThat(x[i]).isEqualTo((float) i * i);
    }
  }

  @Test
  void assignmentsFollowEachOtherAsInPython() {
    double[] x = {1, 2, 3};
    double[] y = {10, 20, 30};
    double[] z = new double[3];

    new Evaluation("t = x + y; y = 2*t; t = y - 1; z = t*x")
        .doubles("x", x)
        .doubles("y", y)
        .doubles("z", z)
        .run(3);

    assertThat(y).containsExactly(22, 44, 66);
    assertThat(z).containsExactly(21, 86, 195);
  }

  @Test
  void aStoredValueIsReadBackInItsArraysType() {
    double[] x = {0.1};
    float[] y = new float[1];
    double[] z = new double[1];

    new Evaluation("y = x; z = y").doubles("x", x).floats("y", y).doubles("z", z).run(1);

    assertThat(z[0]).isEqualTo(0.1f);
  }

  @Test
  void arraysThatNoResultNeedsArePassedOver() {
    Map<String, Operand> operands =
        Map.of(
            "x", Operand.array(ScalarType.FLOAT32),
            "y", Operand.array(ScalarType.FLOAT32),
            "z", Operand.array(ScalarType.FLOAT32));
    CpuLoop loop = CpuLoop.compile(Expression.parse("t = 2*x; z = 3*y").resolve(operands));
    float[] x = {1};
    float[] y = {10};
    float[] z = new float[1];

    loop.run(new Object[] {x, z, y}, new long[0], 1);
    assertThat(z).containsExactly(30);
    y[0] = 20;
    loop.run(segments(x, z, y), new long[0], 0, 1);
    assertThat(z).containsExactly(60);
    y[0] = 30;
    loop.stream(segments(x, z, y), new long[0], 0, 1);
    assertThat(z).containsExactly(90);
  }

  @Test
  void oneValueMayGoToSeveralArrays() {
    float[] x = {1, 2};
    float[] a = new float[2];
    float[] b = new float[2];
    float[] c = new float[2];
    float[] d = new float[2];

    new Evaluation("a = sin(x); b = a; c = x; d = 2.5")
        .floats("x", x)
        .floats("a", a)
        .floats("b", b)
        .floats("c", c)
        .floats("d", d)
        .run(2);

    assertThat(a).containsExactly((float) Math.sin(1), (float) Math.sin(2));
    assertThat(b).containsExactly(a);
    assertThat(c).containsExactly(1, 2);
    assertThat(d).containsExactly(2.5f, 2.5f);
  }

  @Test
  void anyByteButZeroIsTrue() {
    byte[] x = {0, 1, 2, -1};
    byte[] y = new byte[4];
    int[] z = new int[4];

    new Evaluation("y = x; z = x ? 5 : 6")
        .array("x", ScalarType.BOOL, MemorySegment.ofArray(x))
        .array("y", ScalarType.BOOL, MemorySegment.ofArray(y))
        .array("z", ScalarType.INT32, MemorySegment.ofArray(z))
        .run(4);

    assertThat(y).containsExactly(0, 1, 1, 1);
    assertThat(z).containsExactly(6, 5, 5, 5);
  }

  @Test
  void mixedTypesPromoteOnTheWay() {
    byte[] bytes = {-128, 127};
    int[] ints = {Integer.MAX_VALUE, -1};
    long[] longs = {Long.MIN_VALUE, 5};
    float[] floats = {0.5f, 1.5f};
    double[] y = new double[2];
    long[] z = new long[2];

    new Evaluation("y = b*i + f; z = l - 1 + b")
        .bytes("b", bytes)
        .ints("i", ints)
        .longs("l", longs)
        .floats("f", floats)
        .doubles("y", y)
        .longs("z", z)
        .run(2);

    // -128 times 2^31-1 wraps to 128.
    assertThat(y).containsExactly(128 + 0.5, -127 + 1.5);
    assertThat(z).containsExactly(Long.MIN_VALUE - 129, 131);
  }

  @Test
  void aLongExpressionIsCutIntoLoopsThatStillAgree() {
    StringBuilder source = new StringBuilder("t0 = x");
    double[] x = {1, 2, 3};
    double[] expected = x.clone();
    for (int i = 1; i <= 900; i++) {
      String step = i % 7 == 0 ? "sin(t%d) + t%d" : "t%d * 0.5 + x + %3$d - t%d * 0.25";
      source.append(";t").append(i).append(" = ").append(step.formatted(i - 1, i - 1, i));
      for (int k = 0; k < 3; k++) {
        double t = expected[k];
        expected[k] = i % 7 == 0 ? Math.sin(t) + t : t * 0.5 + x[k] + i - t * 0.25;
      }
    }
    double[] y = new double[3];

    new Evaluation(source + "; y = t900").doubles("x", x).doubles("y", y).run(3);

    assertThat(y).containsExactly(expected);
  }

  @Test
  void manyThreadsRunOneLoopOnTheirOwnRanges() throws Exception {
    CpuLoop loop =
        CpuLoop.compile(
            Expression.parse("y = exp(-x)*x")
                .resolve(
                    Map.of(
                        "x", Operand.array(ScalarType.FLOAT32),
                        "y", Operand.array(ScalarType.FLOAT32))));
    int n = 1 << 18;
    float[] x = new float[n];
    float[] once = new float[n];
    float[] shared = new float[n];
    for (int i = 0; i < n; i++) {
      x[i] = i * 1e-4f;
    }
    // y comes first in the source, so it is the first array.
    loop.run(segments(once, x), new long[0], 0, n);

    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> parts = new ArrayList<>();
      for (int from = 0; from < n; from += 1000) {
        int first = from;
        parts.add(
            executor.submit(
                () ->
                    loop.run(segments(shared, x), new long[0], first, Math.min(n, first + 1000))));
      }
      for (Future<?> part : parts) {
        part.get();
      }
    }

    assertThat(shared).isEqualTo(once);
  }

  /** {@code y = a*x + y} over floats; the arrays are x and y. */
  private static CpuLoop axpy() {
    TypedProgram program =
        Expression.parse("t = x; y = a*t + y")
            .resolve(
                Map.of(
                    "a", Operand.scalar(ScalarKind.FLOAT),
                    "x", Operand.array(ScalarType.FLOAT32),
                    "y", Operand.array(ScalarType.FLOAT32)));
    assertThat(program.arrays())
        .extracting(TypedProgram.ArrayParameter::access)
        .containsExactly(Access.IN, Access.INOUT);
    return CpuLoop.compile(program);
  }

  private static MemorySegment[] segments(float[]... arrays) {
    return Arrays.stream(arrays).map(MemorySegment::ofArray).toArray(MemorySegment[]::new);
  }
}
