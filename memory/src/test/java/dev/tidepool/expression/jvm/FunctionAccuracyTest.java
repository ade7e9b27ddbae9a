package dev.tidepool.expression.jvm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.expression.syntax.Op;
import java.util.Random;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Functions are within 2 ulp: floats of double results rounded, doubles of the JDK's reference. */
class FunctionAccuracyTest {
  private static final int COUNT = 1 << 18;

  private static final float[] SPECIALS = {
    0f,
    -0f,
    1f,
    -1f,
    0.5f,
    -0.5f,
    2f,
    3f,
    10f,
    87f,
    -87f,
    88.5f,
    89f,
    -103.9f,
    -104f,
    127f,
    128f,
    -149f,
    -150f,
    1e-3f,
    1e-8f,
    -1e-8f,
    1e-30f,
    1e10f,
    1e20f,
    -1e20f,
    0x1p40f,
    0x1p41f,
    1e38f,
    (float) Math.PI,
    (float) (Math.PI / 2),
    16367173f * 0x1p72f,
    0.70710677f,
    0.7071068f,
    Math.nextDown(1f),
    Math.nextUp(1f),
    Float.MIN_VALUE,
    -Float.MIN_VALUE,
    Float.MIN_NORMAL,
    Math.nextDown(Float.MIN_NORMAL),
    Float.MAX_VALUE,
    -Float.MAX_VALUE,
    Float.POSITIVE_INFINITY,
    Float.NEGATIVE_INFINITY,
    Float.NaN
  };

  @ParameterizedTest
  @EnumSource(
      value = Op.class,
      names = {
        "SQRT", "CBRT", "EXP", "EXP2", "EXPM1", "LOG", "LOG2", "LOG10", "LOG1P", "SIN", "COS",
        "TAN", "ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH"
      })
  void functionsOfFloatsAreWithin2Ulp(Op op) {
    float[] x = arguments(17);
    float[] y = new float[COUNT];
    DoubleUnaryOperator exact = exact(op);

    new Evaluation("y = " + op.functionName() + "(x)").floats("x", x).floats("y", y).run(COUNT);

    for (int i = 0; i < COUNT; i++) {
      float expected = (float) exact.applyAsDouble(x[i]);
      assertThat(ulps(y[i], expected)).as("%s(%s) = %s", op, x[i], y[i]).isLessThanOrEqualTo(1);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Op.class,
      names = {"POW", "ATAN2", "HYPOT"})
  void functionsOfTwoFloatsAreWithin2Ulp(Op op) {
    float[] a = arguments(18);
    float[] b = arguments(19);
    for (int i = 0; i < SPECIALS.length * SPECIALS.length; i++) {
      a[i] = SPECIALS[i / SPECIALS.length];
      b[i] = SPECIALS[i % SPECIALS.length];
    }
    float[] y = new float[COUNT];
    DoubleBinaryOperator exact =
        switch (op) {
          case POW -> FunctionAccuracyTest::pow;
          case ATAN2 -> StrictMath::atan2;
          default -> StrictMath::hypot;
        };

    new Evaluation("y = " + op.functionName() + "(a, b)")
        .floats("a", a)
        .floats("b", b)
        .floats("y", y)
        .run(COUNT);

    for (int i = 0; i < COUNT; i++) {
      float expected = (float) exact.applyAsDouble(a[i], b[i]);
      assertThat(ulps(y[i], expected))
          .as("%s(%s, %s) = %s, not %s", op, a[i], b[i], y[i], expected)
          .isLessThanOrEqualTo(1);
    }
  }

  /** C's, as NumPy's: Java differs for a base of 1 or -1. */
  private static double pow(double a, double b) {
    boolean one = a == 1 || (a == -1 && Double.isInfinite(b));
    return one ? 1 : StrictMath.pow(a, b);
  }

  @ParameterizedTest
  @EnumSource(
      value = Op.class,
      names = {
        "SQRT", "CBRT", "EXP", "EXPM1", "LOG", "LOG10", "LOG1P", "SIN", "COS", "TAN", "ASIN",
        "ACOS", "ATAN", "SINH", "COSH", "TANH"
      })
  void functionsOfDoublesAreWithin2UlpOfTheReference(Op op) {
    Random random = new Random(20);
    double[] x = random.doubles(COUNT / 4, -3, 3).map(v -> v * v * v * v * v).toArray();
    double[] y = new double[x.length];
    DoubleUnaryOperator exact = exact(op);

    new Evaluation("y = " + op.functionName() + "(x)")
        .doubles("x", x)
        .doubles("y", y)
        .run(x.length);

    for (int i = 0; i < x.length; i++) {
      double expected = exact.applyAsDouble(x[i]);
      double ulp = Math.ulp(expected);
      assertThat(Double.compare(y[i], expected) == 0 || Math.abs(y[i] - expected) <= 2 * ulp)
          .as("%s(%s) = %s, not %s", op, x[i], y[i], expected)
          .isTrue();
    }
  }

  @Test
  void powersOfTwoHaveExactLogarithmsAndExponentials() {
    double[] x = new double[2098];
    double[] y = new double[x.length];
    double[] z = new double[x.length];
    for (int i = 0; i < x.length; i++) {
      x[i] = Math.scalb(1.0, i - 1074);
    }

    new Evaluation("y = log2(x); z = exp2(y)")
        .doubles("x", x)
        .doubles("y", y)
        .doubles("z", z)
        .run(x.length);

    for (int i = 0; i < x.length; i++) {
      assertThat(y[i]).isEqualTo(i - 1074);
      assertThat(z[i]).isEqualTo(x[i]);
    }
  }

  @Test
  void fmaRoundsOnceAndNothingElseDoes() {
    float[] x = {1 + 0x1p-12f, 1 + 0x1p-12f};
    float[] y = new float[2];
    float[] z = new float[2];

    new Evaluation("y = fma(x, x, -1); z = x*x - 1")
        .floats("x", x)
        .floats("y", y)
        .floats("z", z)
        .run(2);

    assertThat(y[0]).isEqualTo(0x1p-11f + 0x1p-24f);
    assertThat(z[0]).isEqualTo(0x1p-11f);
  }

  @Test
  void tiesRoundToEvenAndZerosKeepTheirSign() {
    float[] x = {0.5f, 1.5f, -0.5f, 2.5f, -0f};
    float[] y = new float[5];

    new Evaluation("y = rint(x)").floats("x", x).floats("y", y).run(5);

    assertThat(y).containsExactly(0f, 2f, -0f, 2f, -0f);
  }

  /** The values that matter, then magnitudes of all sizes, then those of daily use. */
  private static float[] arguments(int seed) {
    Random random = new Random(seed);
    float[] x = new float[COUNT];
    for (int i = 0; i < COUNT; i++) {
      x[i] =
          i < SPECIALS.length
              ? SPECIALS[i]
              : i < COUNT / 4
                  ? Float.intBitsToFloat(random.nextInt())
                  : (random.nextFloat() - 0.5f) * (i < COUNT / 2 ? 200 : 4);
    }
    return x;
  }

  private static DoubleUnaryOperator exact(Op op) {
    return switch (op) {
      case SQRT -> StrictMath::sqrt;
      case CBRT -> StrictMath::cbrt;
      case EXP -> StrictMath::exp;
      case EXP2 -> x -> StrictMath.pow(2, x);
      case EXPM1 -> StrictMath::expm1;
      case LOG -> StrictMath::log;
      case LOG2 -> FunctionAccuracyTest::log2;
      case LOG10 -> StrictMath::log10;
      case LOG1P -> StrictMath::log1p;
      case SIN -> StrictMath::sin;
      case COS -> StrictMath::cos;
      case TAN -> StrictMath::tan;
      case ASIN -> StrictMath::asin;
      case ACOS -> StrictMath::acos;
      case ATAN -> StrictMath::atan;
      case SINH -> StrictMath::sinh;
      case COSH -> StrictMath::cosh;
      case TANH -> StrictMath::tanh;
      default -> throw new AssertionError(op);
    };
  }

  /** Near 1 the quotient of logarithms is as good as the logarithm. */
  private static double log2(double x) {
    return StrictMath.log(x) / StrictMath.log(2);
  }

  /** Floats between the two; 0 for equals, which two NaNs and zeros of either sign are not. */
  private static long ulps(float a, float b) {
    if (Float.isNaN(a) && Float.isNaN(b)) {
      return 0;
    }
    if (Float.isNaN(a) || Float.isNaN(b) || (a == 0 && b == 0 && Float.compare(a, b) != 0)) {
      return Long.MAX_VALUE;
    }
    return Math.abs(ordinal(a) - ordinal(b));
  }

  private static long ordinal(float x) {
    int bits = Float.floatToRawIntBits(x);
    return bits >= 0 ? bits : Integer.MIN_VALUE - (long) bits;
  }
}
