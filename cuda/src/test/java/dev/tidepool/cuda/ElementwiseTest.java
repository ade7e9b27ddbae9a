package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A device computes what the CPU does, whose results are held against NumPy's elsewhere. */
@ExtendWith(NothingLeaks.class)
class ElementwiseTest {
  private static final int COUNT = 3000;

  @ParameterizedTest
  @MethodSource("dev.tidepool.cuda.Elementwise#types")
  void everyOperationOverEveryType(ElementType<?> type) {
    Simulation.with(1);
    Elementwise all = Elementwise.of(type);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      List<double[]> expected = computed(tidepool, "cpu:0", all);
      List<double[]> actual = computed(tidepool, "cuda:0", all);
      for (int i = 0; i < expected.size(); i++) {
        assertEqual(all.expressions().get(i), type, expected.get(i), actual.get(i));
      }
    }
  }

  /** Functions of both are within 2 ulp of the right value, of float where the arrays are. */
  private static void assertEqual(
      String expression, ElementType<?> type, double[] expected, double[] actual) {
    boolean function = expression.matches("\\w{3,}\\d*\\(.*|.*\\*\\*.*");
    for (int i = 0; i < COUNT; i++) {
      if (Double.doubleToLongBits(expected[i]) == Double.doubleToLongBits(actual[i])) {
        continue;
      }
      double ulp =
          type == ElementType.DOUBLE ? Math.ulp(expected[i]) : Math.ulp((float) expected[i]);
      assertThat(function && Math.abs(expected[i] - actual[i]) <= 4 * ulp)
          .as("%s of %s: %s on the CPU, %s on the device", expression, type, expected[i], actual[i])
          .isTrue();
    }
  }

  private static List<double[]> computed(Tidepool tidepool, String device, Elementwise all) {
    Map<String, Object> values = new HashMap<>();
    values.put("x", random(all.type(), 1));
    values.put("y", random(all.type(), 2));
    values.put("a", 2.5);
    List<double[]> results = new ArrayList<>();
    for (int i = 0; i < all.expressions().size(); i++) {
      results.add(new double[COUNT]);
      values.put("z" + i, results.get(i));
    }
    tidepool
        .memory(tidepool.accelerator(device))
        .compile(KernelSource.elementwise(all.source()))
        .execute(Arguments.of(values));
    return results;
  }

  private static Object random(ElementType<?> type, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Object array = java.lang.reflect.Array.newInstance(type.arrayClass().componentType(), COUNT);
    for (int i = 0; i < COUNT; i++) {
      double value =
          switch (i % 5) {
            case 0 -> random.nextInt(-4, 5);
            case 1 -> random.nextDouble(-1, 1);
            case 2 -> random.nextDouble(-100, 100);
            case 3 -> random.nextDouble(-1e9, 1e9);
            default ->
                List.of(0.0, -0.0, Double.NaN, Double.POSITIVE_INFINITY, 1e-310, -1e300, 0.5)
                    .get(random.nextInt(7));
          };
      switch (array) {
        case byte[] bytes -> bytes[i] = (byte) (long) value;
        case short[] shorts -> shorts[i] = (short) (long) value;
        case int[] ints -> ints[i] = (int) value;
        case long[] longs -> longs[i] = (long) (value * 1e5);
        case float[] floats -> floats[i] = (float) value;
        case double[] doubles -> doubles[i] = value;
        case boolean[] booleans -> booleans[i] = value > 0;
        default -> throw new AssertionError(type);
      }
    }
    return array;
  }
}
