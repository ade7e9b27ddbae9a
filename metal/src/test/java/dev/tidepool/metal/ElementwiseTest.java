package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A device computes what the CPU does, whose results are held against NumPy's elsewhere. */
@ExtendWith(NothingLeaks.class)
class ElementwiseTest {
  private static final int COUNT = 20_000;

  private static final List<String> EXACT =
      List.of(
          "-x",
          "abs(x)",
          "floor(x)",
          "ceil(x)",
          "rint(x)",
          "sqrt(x)",
          "x + y",
          "x - y",
          "x * y",
          "x / y",
          "x // y",
          "x % y",
          "min(x, y)",
          "max(x, y)",
          "fma(x, y, x)",
          "x < y ? x : y",
          "a * x + 3");
  private static final List<String> FUNCTIONS =
      List.of(
          "cbrt(x)",
          "exp(x)",
          "exp2(x)",
          "expm1(x)",
          "log(x)",
          "log2(x)",
          "log10(x)",
          "log1p(x)",
          "sin(x)",
          "cos(x)",
          "tan(x)",
          "asin(x)",
          "acos(x)",
          "atan(x)",
          "sinh(x)",
          "cosh(x)",
          "tanh(x)",
          "atan2(x, y)",
          "pow(x, y)",
          "hypot(x, y)");

  /** Each is right within 2 ulp on the device, and so it is on the CPU. */
  @Test
  void floatsAreComputedAsOnTheProcessor() {
    // The processor does not flush subnormals.
    Simulation.with(1).setAll("subnormals", 1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      for (List<String> expressions : List.of(EXACT, FUNCTIONS)) {
        List<float[]> expected = computed(tidepool, "cpu:0", expressions);
        List<float[]> actual = computed(tidepool, "metal:0", expressions);
        for (int i = 0; i < expressions.size(); i++) {
          int ulps = expressions.equals(EXACT) ? 0 : 3;
          assertEqual(expressions.get(i), ulps, expected.get(i), actual.get(i));
        }
      }
    }
  }

  private static void assertEqual(String expression, int ulps, float[] expected, float[] actual) {
    for (int i = 0; i < COUNT; i++) {
      boolean same = Float.floatToIntBits(expected[i]) == Float.floatToIntBits(actual[i]);
      boolean near =
          Math.abs((double) expected[i] - actual[i]) <= (double) ulps * Math.ulp(expected[i]);
      assertThat(same || near)
          .as("%s: %s on the CPU, %s on the device", expression, expected[i], actual[i])
          .isTrue();
    }
  }

  private static List<float[]> computed(
      Tidepool tidepool, String device, List<String> expressions) {
    Map<String, Object> values = new HashMap<>();
    values.put("x", random(1));
    values.put("y", random(2));
    values.put("a", 2.5);
    List<float[]> results = new ArrayList<>();
    StringBuilder source = new StringBuilder();
    for (int i = 0; i < expressions.size(); i++) {
      results.add(new float[COUNT]);
      values.put("z" + i, results.get(i));
      source.append("z").append(i).append(" = ").append(expressions.get(i)).append("\n");
    }
    if (source.indexOf("a *") < 0) {
      values.remove("a");
    }
    tidepool
        .memory(tidepool.accelerator(device))
        .compile(KernelSource.elementwise(source.toString()))
        .execute(Arguments.of(values));
    return results;
  }

  private static float[] random(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    float[] values = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      values[i] =
          switch (i % 5) {
            case 0 -> random.nextInt(-4, 5);
            case 1 -> (float) random.nextDouble(-1, 1);
            case 2 -> (float) random.nextDouble(-100, 100);
            case 3 -> Float.intBitsToFloat(random.nextInt());
            default ->
                List.of(0f, -0f, Float.NaN, Float.POSITIVE_INFINITY, 1e-40f, -3e38f, 0.5f)
                    .get(random.nextInt(7));
          };
    }
    return values;
  }

  @Test
  void whatNeedsDoublesIsRefusedByName() {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("metal:0"));
      double[] x = new double[3];
      assertThatThrownBy(
              () ->
                  memory
                      .compile(KernelSource.elementwise("x = x + 1"))
                      .execute(Arguments.of("x", x)))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("'x = x + 1' needs float64 values")
          .hasMessageContaining("use another device");
    }
  }
}
