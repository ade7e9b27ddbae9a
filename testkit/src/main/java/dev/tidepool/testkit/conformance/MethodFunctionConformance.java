package dev.tidepool.testkit.conformance;

import static java.util.stream.Collectors.groupingBy;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.methods.bytecode.MethodReader;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.DoubleBinaryOperator;
import org.junit.jupiter.api.Test;

/** The functions of Math in Java methods as kernels are those of Java. */
public abstract class MethodFunctionConformance extends Topic {
  /** The greatest difference to Java's result, in units of the last place. */
  private static final double MOST_ULPS = 2;

  private static final double[] EDGES = {
    0.0,
    -0.0,
    1,
    -1,
    0.5,
    -0.5,
    1 + 0x1p-20,
    1 - 0x1p-20,
    2,
    -2,
    3,
    -3,
    7.5,
    -10,
    22,
    -35,
    80,
    -80,
    1e-5,
    -1e-5,
    1e-20,
    1e10,
    -1e10,
    1e22,
    Math.PI / 2,
    -Math.PI / 2,
    Math.nextUp((float) (Math.PI / 2)),
    Math.nextDown((float) (Math.PI / 2)),
    Math.PI,
    1e5 * Math.PI,
    Float.MIN_NORMAL,
    Float.MAX_VALUE,
    -Float.MAX_VALUE,
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY
  };
  private static final double[] SUBNORMAL_FLOATS = {
    Float.MIN_VALUE, -Float.MIN_VALUE, 0.75f * Float.MIN_NORMAL
  };
  private static final double[] ONLY_DOUBLES = {
    Double.MIN_VALUE,
    -0.75 * Double.MIN_NORMAL,
    Double.MIN_NORMAL,
    Double.MAX_VALUE,
    1e300,
    -1e300,
    700,
    -740,
    Math.nextUp(Math.PI / 2),
    Math.nextDown(Math.PI / 2),
    1 + 0x1p-50,
    1 - 0x1p-50
  };

  /** Returns the functions, in the order in which the kernels store them. */
  private static Map<String, DoubleBinaryOperator> functions() {
    Map<String, DoubleBinaryOperator> functions = new LinkedHashMap<>();
    functions.put("sin", (x, _) -> StrictMath.sin(x));
    functions.put("cos", (x, _) -> StrictMath.cos(x));
    functions.put("tan", (x, _) -> StrictMath.tan(x));
    functions.put("asin", (x, _) -> StrictMath.asin(x));
    functions.put("acos", (x, _) -> StrictMath.acos(x));
    functions.put("atan", (x, _) -> StrictMath.atan(x));
    functions.put("sinh", (x, _) -> StrictMath.sinh(x));
    functions.put("cosh", (x, _) -> StrictMath.cosh(x));
    functions.put("tanh", (x, _) -> StrictMath.tanh(x));
    functions.put("exp", (x, _) -> StrictMath.exp(x));
    functions.put("expm1", (x, _) -> StrictMath.expm1(x));
    functions.put("log", (x, _) -> StrictMath.log(x));
    functions.put("log10", (x, _) -> StrictMath.log10(x));
    functions.put("log1p", (x, _) -> StrictMath.log1p(x));
    functions.put("cbrt", (x, _) -> StrictMath.cbrt(x));
    functions.put("sqrt", (x, _) -> StrictMath.sqrt(x));
    functions.put("atan2", StrictMath::atan2);
    functions.put("hypot", StrictMath::hypot);
    functions.put("pow", StrictMath::pow);
    return functions;
  }

  private Kernel compiled(String method) {
    try {
      MethodHandles.Lookup lookup =
          MethodHandles.privateLookupIn(MethodKernels.class, MethodHandles.lookup());
      return compiled(KernelSource.method(lookup, method));
    } catch (IllegalAccessException e) {
      throw new AssertionError("both are in one package", e);
    }
  }

  private Kernel compiled(KernelSource.Method method) {
    try {
      return memory().compile(method);
    } catch (UnsupportedOperationException noCompiler) {
      return abort("no compiler: " + noCompiler.getMessage());
    }
  }

  private static double[] joined(double[]... parts) {
    return Arrays.stream(parts).flatMapToDouble(Arrays::stream).toArray();
  }

  /** Returns every pair of edges, and as many random pairs of all magnitudes: all x, then all y. */
  private static double[][] pairs(double[] edges, int exponents) {
    int count = edges.length * edges.length;
    double[][] pairs = new double[2][2 * count];
    Random random = new Random(19);
    for (int i = 0; i < count; i++) {
      pairs[0][i] = edges[i % edges.length];
      pairs[1][i] = edges[i / edges.length];
      pairs[0][count + i] = random.nextGaussian() * Math.scalb(1.0, random.nextInt(exponents) - 6);
      pairs[1][count + i] = random.nextGaussian() * Math.scalb(1.0, random.nextInt(exponents) - 6);
    }
    return pairs;
  }

  @Test
  void functionsOfFloatsAreJavas() {
    boolean hasSubnormals = bench().can(Capability.FLOAT_SUBNORMALS);
    double[][] pairs = pairs(hasSubnormals ? joined(EDGES, SUBNORMAL_FLOATS) : EDGES, 16);
    int count = pairs[0].length;
    float[] x = new float[count];
    float[] y = new float[count];
    for (int i = 0; i < count; i++) {
      x[i] = (float) pairs[0][i];
      y[i] = (float) pairs[1][i];
    }
    Map<String, DoubleBinaryOperator> functions = functions();
    float[] out = new float[count * functions.size()];
    compiled("functionsOfFloats").execute(Arguments.inOrder(x, y, out), LaunchRange.of(count));
    Map<String, String> wrong = new LinkedHashMap<>();
    int column = 0;
    for (Map.Entry<String, DoubleBinaryOperator> function : functions.entrySet()) {
      double worst = MOST_ULPS;
      for (int i = 0; i < count; i++) {
        float exact = (float) function.getValue().applyAsDouble(x[i], y[i]);
        float found = out[i * functions.size() + column];
        boolean isFlushed = !hasSubnormals && Math.abs(exact) < Float.MIN_NORMAL;
        double ulps =
            isFlushed && Math.abs(found) < Float.MIN_NORMAL
                ? 0
                : ulps(exact, found, Math.ulp(exact));
        if (ulps > worst) {
          worst = ulps;
          wrong.put(function.getKey(), shown(x[i], y[i], exact, found, ulps));
        }
      }
      column++;
    }
    assertThat(wrong).isEmpty();
  }

  @Test
  void functionsOfDoublesAreJavas() {
    assumeTrue(bench().can(Capability.FLOAT64), "this accelerator has no 64-bit floats");
    double[][] pairs = pairs(joined(EDGES, SUBNORMAL_FLOATS, ONLY_DOUBLES), 16);
    double[] x = pairs[0];
    double[] y = pairs[1];
    Map<String, DoubleBinaryOperator> functions = functions();
    double[] out = new double[x.length * functions.size()];
    compiled("functionsOfDoubles").execute(Arguments.inOrder(x, y, out), LaunchRange.of(x.length));
    Map<String, String> wrong = new LinkedHashMap<>();
    int column = 0;
    for (Map.Entry<String, DoubleBinaryOperator> function : functions.entrySet()) {
      double worst = MOST_ULPS;
      for (int i = 0; i < x.length; i++) {
        double exact = function.getValue().applyAsDouble(x[i], y[i]);
        double found = out[i * functions.size() + column];
        double ulps = ulps(exact, found, Math.ulp(exact));
        if (ulps > worst) {
          worst = ulps;
          wrong.put(function.getKey(), shown(x[i], y[i], exact, found, ulps));
        }
      }
      column++;
    }
    assertThat(wrong).isEmpty();
  }

  private static String shown(double x, double y, double exact, double found, double ulps) {
    return "of " + x + " and " + y + " is " + found + ", not " + exact + ": " + ulps + " ulp";
  }

  /** Returns the difference in units; infinity for special values or different signs. */
  private static double ulps(double exact, double found, double ulp) {
    if (Double.compare(exact, found) == 0) {
      return 0;
    }
    boolean isComparable =
        Double.isFinite(exact)
            && Double.isFinite(found)
            && Math.copySign(1, exact) == Math.copySign(1, found);
    return isComparable ? Math.abs(exact - found) / ulp : Double.POSITIVE_INFINITY;
  }

  @Test
  void strictCopySignTakesANanForPositive() {
    float negativeNan = Float.intBitsToFloat(0xffc00000);
    float[] x = {1, -1, 0, -0.0f, Float.NEGATIVE_INFINITY, 3, -3};
    for (float sign : List.of(negativeNan, Float.NaN, -0.0f, 2f)) {
      float[] y = new float[x.length];
      Arrays.fill(y, sign);
      float[] out = new float[x.length];
      compiled("strictSigns").execute(Arguments.inOrder(x, y, out));
      float[] expected = new float[x.length];
      for (int i = 0; i < x.length; i++) {
        MethodKernels.strictSigns(i, x, y, expected);
      }
      assertThat(out).as("sign of %s", sign).containsExactly(expected);
    }
  }

  @Test
  void methodsOfJavasNumbersReturnWhatTheyDo() {
    Map<MethodType, List<Method>> byType =
        CalledMethods.all().stream()
            .filter(MethodFunctionConformance::isTaken)
            .collect(groupingBy(CalledMethods::type));
    List<String> wrong = new ArrayList<>();
    byType.forEach((type, methods) -> findWrong(type, methods, wrong));
    assertThat(wrong).isEmpty();
  }

  private static boolean isTaken(Method method) {
    try {
      return !MethodReader.read(CalledMethods.kernel(List.of(method))).body().isEmpty();
    } catch (KernelCompilationException refused) {
      return false;
    }
  }

  /** Calls methods of one type with all combinations of some values. */
  private void findWrong(MethodType type, List<Method> methods, List<String> wrong) {
    boolean hasDoubles =
        type.returnType() == double.class || type.parameterList().contains(double.class);
    if (hasDoubles && !bench().can(Capability.FLOAT64)) {
      return;
    }
    List<List<Object>> values = new ArrayList<>();
    int items = 1;
    for (Class<?> parameter : type.parameterList()) {
      values.add(valuesOf(parameter, !values.isEmpty()));
      items *= values.getLast().size();
    }
    Object[] arguments = new Object[values.size() + 1];
    for (int p = 0, stride = 1; p < values.size(); stride *= values.get(p).size(), p++) {
      List<Object> some = values.get(p);
      arguments[p] = Array.newInstance(type.parameterType(p), items);
      for (int i = 0; i < items; i++) {
        Array.set(arguments[p], i, some.get(i / stride % some.size()));
      }
    }
    Object out = Array.newInstance(type.returnType(), items * methods.size());
    arguments[values.size()] = out;
    compiled(CalledMethods.kernel(methods))
        .execute(Arguments.inOrder(arguments), LaunchRange.of(items));
    for (int i = 0; i < items * methods.size(); i++) {
      Method method = methods.get(i % methods.size());
      Object[] called = new Object[values.size()];
      for (int p = 0; p < called.length; p++) {
        called[p] = Array.get(arguments[p], i / methods.size());
      }
      Object expected = call(method, called);
      Object found = Array.get(out, i);
      if (!isRight(method, expected, found)) {
        wrong.add(
            CalledMethods.shown(method)
                + " of "
                + Arrays.toString(called)
                + " is "
                + found
                + ", not "
                + expected);
      }
    }
  }

  /** Returns some values of a type; divisors, which are not the first parameter, are not 0. */
  private static List<Object> valuesOf(Class<?> type, boolean isDivisor) {
    long[] integers = {1, -1, 2, 31, -33, 64, Integer.MAX_VALUE, Integer.MIN_VALUE, 0x1234_5678};
    long[] long64 = {Long.MAX_VALUE, Long.MIN_VALUE, 0x1234_5678_9abc_def0L, 1L << 32};
    double[] floats = {
      0.0, -0.0, 1, -1.5, 2.5, -1e10, 3e38, 0x1p-20, Double.NaN, 1 / 0.0, -1 / 0.0
    };
    List<Object> values = new ArrayList<>();
    if (type == int.class) {
      Arrays.stream(integers).forEach(value -> values.add((int) value));
    } else if (type == long.class) {
      Arrays.stream(integers).forEach(values::add);
      Arrays.stream(long64).forEach(values::add);
    } else if (type == float.class) {
      Arrays.stream(floats).forEach(value -> values.add((float) value));
    } else {
      Arrays.stream(floats).forEach(values::add);
      values.add(1e300);
    }
    if (type == int.class && !isDivisor) {
      values.add(0);
    } else if (type == long.class && !isDivisor) {
      values.add(0L);
    }
    return values;
  }

  private static Object call(Method method, Object[] arguments) {
    try {
      return method.invoke(null, arguments);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(CalledMethods.shown(method) + " cannot be called", e);
    }
  }

  private boolean isRight(Method method, Object expected, Object found) {
    if (expected instanceof Float exact && !bench().can(Capability.FLOAT_SUBNORMALS)) {
      if (Math.abs(exact) < Float.MIN_NORMAL && Math.abs((float) found) < Float.MIN_NORMAL) {
        return true;
      }
    }
    // Another test compares functions with StrictMath; Java's own may differ by 1 ulp.
    return expected.equals(found)
        || (functions().containsKey(method.getName())
            && expected instanceof Double exact
            && ulps(exact, (double) found, Math.ulp(exact)) <= MOST_ULPS + 1);
  }
}
