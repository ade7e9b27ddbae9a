package dev.tidepool.expression.jvm;

import dev.tidepool.expression.math.FloatFunctions;
import dev.tidepool.expression.math.FloatParts;
import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.constant.ClassDesc;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;

/**
 * Functions on whole blocks of floats, written so that C2 vectorises them: arithmetic in double
 * without branches, accurate to about 1e-8 of a result before the single rounding to float.
 * Arguments for which this fails (not finite, overflowing, huge) set an integer that is zero
 * otherwise. Only then are the elements computed again, one by one.
 *
 * <p>The polynomials interpolate at Chebyshev's nodes. An exponential is that of a 256th of the
 * argument, squared eight times: in double that costs eight bits of 53, and no float is assembled
 * from bits.
 */
final class BlockFunctions {
  static final ClassDesc OWNER = BlockFunctions.class.describeConstable().orElseThrow();

  private static final Set<Op> FUNCTIONS =
      EnumSet.of(
          Op.EXP, Op.EXP2, Op.EXPM1, Op.SINH, Op.COSH, Op.TANH, Op.SIN, Op.COS, Op.HYPOT, Op.LOG,
          Op.LOG2, Op.LOG10, Op.POW);

  private static final Set<Op> TAKING_SEGMENT = EnumSet.of(Op.LOG, Op.LOG2, Op.LOG10, Op.POW);

  /** Results overflow beyond this argument, and become denormal below its negative. */
  private static final float EXP_LIMIT = 87;

  private static final float EXP2_LIMIT = 125;

  /** The hyperbolic tangent is 1 from a quarter of this argument on. */
  private static final float TANH_LIMIT = 40;

  /** Multiples of pi are subtracted in two parts up to here. */
  private static final float SIN_LIMIT = 0x1p40f;

  private static final double LN2 = 0.6931471805599453;
  private static final double LOG10_2 = 0.3010299956639812;
  private static final double PI_REST = 1.2246467991473532e-16;

  private BlockFunctions() {}

  /** Returns whether there is a routine for the function and its type. */
  static boolean has(Node node) {
    return node.type() == ScalarType.FLOAT32 && FUNCTIONS.contains(node.op());
  }

  /** Returns whether the routine takes its first argument as a segment too, to read its bits. */
  static boolean takesSegment(Node node) {
    return has(node) && TAKING_SEGMENT.contains(node.op());
  }

  /** Returns whether the routine needs room for the parts of floats. */
  static boolean takesParts(Node node) {
    return takesSegment(node) || (has(node) && node.op() == Op.EXP);
  }

  /** Returns e to the power of {@code 256 * r}, for magnitudes of {@code r} up to 88/256. */
  private static double exponential(double r) {
    double p = Math.fma(r, 1.9906491817460359e-4, 1.3947607940509052e-3);
    p = Math.fma(p, r, 8.333285143260339e-3);
    p = Math.fma(p, r, 4.1666232769647225e-2);
    p = Math.fma(p, r, 0.16666666780574002);
    p = Math.fma(p, r, 0.5000000102564774);
    p = Math.fma(p, r, 0.9999999999957937);
    p = Math.fma(p, r, 0.9999999999621251);
    p *= p;
    p *= p;
    p *= p;
    p *= p;
    p *= p;
    p *= p;
    p *= p;
    return p * p;
  }

  /** Returns {@link #exponential} minus 1, without cancellation: (1+e)(1+e)-1 is e(e+2). */
  private static double exponentialLess1(double r) {
    double p = Math.fma(r, 1.989833140673397e-4, 1.3940259627002174e-3);
    p = Math.fma(p, r, 8.333299606622754e-3);
    p = Math.fma(p, r, 4.166636300851206e-2);
    p = Math.fma(p, r, 0.16666666716489417);
    p = Math.fma(p, r, 0.5000000044859209);
    p = Math.fma(p, r, 1);
    p *= r;
    p *= p + 2;
    p *= p + 2;
    p *= p + 2;
    p *= p + 2;
    p *= p + 2;
    p *= p + 2;
    p *= p + 2;
    return p * (p + 2);
  }

  /**
   * Returns the sine of {@code x}, which is {@code k} times pi plus a rest of at most a quarter
   * turn.
   */
  private static double sineOfRest(double x, double k) {
    double r = Math.fma(-k, PI_REST, Math.fma(-k, Math.PI, x));
    double z = r * r;
    double p = Math.fma(z, -2.388808010342438e-8, 2.7525206600470966e-6);
    p = Math.fma(p, z, -1.984085996512262e-4);
    p = Math.fma(p, z, 8.33333096483573e-3);
    p = Math.fma(p, z, -0.1666666661656751);
    p = Math.fma(p, z, 0.999999999982817);
    return p * r;
  }

  /** Returns 1 for even and -1 for odd numbers. */
  private static double sign(double k) {
    return Math.fma(-2, Math.fma(-2, Math.floor(k * 0.5), k), 1);
  }

  /** Returns the logarithm of a mantissa, by the inverse hyperbolic tangent of (m-1)/(m+1). */
  private static double logarithm(double mantissa) {
    double s = (mantissa - 1) / (mantissa + 1);
    double z = s * s;
    double p = Math.fma(z, 8.419194525858428e-2, 9.060937643327455e-2);
    p = Math.fma(p, z, 0.11111718164445208);
    p = Math.fma(p, z, 0.14285707998349606);
    p = Math.fma(p, z, 0.2000000003094498);
    p = Math.fma(p, z, 0.333333333332763);
    p = Math.fma(p, z, 1);
    return 2 * s * p;
  }

  /**
   * Computes the exponential, the most frequent function and so the fastest: a power of two, whose
   * bits are integers, times e to a rest of at most half of ln 2.
   */
  static void exp(float[] x, float[] out, FloatParts work, int n) {
    int outside = powersOfE(x, out, work.bits, n);
    work.scale(out, n);
    for (int i = 0; outside != 0 && i < n; i++) {
      if (!(Math.abs(x[i]) < EXP_LIMIT)) {
        out[i] = FloatFunctions.exp(x[i]);
      }
    }
  }

  private static int powersOfE(float[] x, float[] out, int[] twos, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / EXP_LIMIT));
      double k = Math.rint(x[i] * (1 / LN2));
      double r = Math.fma(-k, LN2, x[i]);
      double p = Math.fma(r, 1.3941118895827345e-3, 8.37513477462415e-3);
      p = Math.fma(p, r, 4.166635277111235e-2);
      p = Math.fma(p, r, 0.1666641541404118);
      p = Math.fma(p, r, 0.5000000047146057);
      p = Math.fma(p, r, 1.0000000377388714);
      out[i] = (float) Math.fma(p, r, 1);
      twos[i] = ((int) (float) k + 127) << 23;
    }
    return outside;
  }

  static void exp2(float[] x, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / EXP2_LIMIT));
      out[i] = (float) exponential(x[i] * (LN2 * 0x1p-8));
    }
    for (int i = 0; outside != 0 && i < n; i++) {
      if (!(Math.abs(x[i]) < EXP2_LIMIT)) {
        out[i] = FloatFunctions.exp2(x[i]);
      }
    }
  }

  static void expm1(float[] x, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / EXP_LIMIT));
      out[i] = (float) exponentialLess1(x[i] * 0x1p-8);
    }
    for (int i = 0; outside != 0 && i < n; i++) {
      if (!(Math.abs(x[i]) < EXP_LIMIT)) {
        out[i] = FloatFunctions.expm1(x[i]);
      }
    }
  }

  static void sinh(float[] x, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / EXP_LIMIT));
      double r = x[i] * 0x1p-8;
      out[i] = (float) (0.5 * (exponentialLess1(r) - exponentialLess1(-r)));
    }
    for (int i = 0; outside != 0 && i < n; i++) {
      if (!(Math.abs(x[i]) < EXP_LIMIT)) {
        out[i] = FloatFunctions.sinh(x[i]);
      }
    }
  }

  static void cosh(float[] x, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / EXP_LIMIT));
      double p = exponential(x[i] * 0x1p-8);
      out[i] = (float) (0.5 * (p + 1 / p));
    }
    for (int i = 0; outside != 0 && i < n; i++) {
      if (!(Math.abs(x[i]) < EXP_LIMIT)) {
        out[i] = FloatFunctions.cosh(x[i]);
      }
    }
  }

  static void tanh(float[] x, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / TANH_LIMIT));
      double p = exponentialLess1(x[i] * 0x1p-7);
      out[i] = (float) (p / (p + 2));
    }
    for (int i = 0; outside != 0 && i < n; i++) {
      if (!(Math.abs(x[i]) < TANH_LIMIT)) {
        out[i] = FloatFunctions.tanh(x[i]);
      }
    }
  }

  static void sin(float[] x, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / SIN_LIMIT));
      // Adding 0 makes the multiple of -0 positive, and so the sine of -0 negative.
      double k = Math.rint(x[i] * (1 / Math.PI)) + 0.0;
      out[i] = (float) (sineOfRest(x[i], k) * sign(k));
    }
    for (int i = 0; outside != 0 && i < n; i++) {
      if (!(Math.abs(x[i]) < SIN_LIMIT)) {
        out[i] = FloatFunctions.sin(x[i]);
      }
    }
  }

  /**
   * Computes the cosine. For {@code x = (k + 1/2) * pi + r}, it is -sin(r) if k is even, and sin(r)
   * if k is odd.
   */
  static void cos(float[] x, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / SIN_LIMIT));
      double k = Math.floor(x[i] * (1 / Math.PI));
      out[i] = (float) (-sineOfRest(x[i], k + 0.5) * sign(k));
    }
    for (int i = 0; outside != 0 && i < n; i++) {
      if (!(Math.abs(x[i]) < SIN_LIMIT)) {
        out[i] = FloatFunctions.cos(x[i]);
      }
    }
  }

  /**
   * Computes the hypotenuse. A double holds the squares of all floats. An infinity wins over a NaN.
   */
  static void hypot(float[] x, float[] y, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * 0x1p-127f) | (int) (y[i] * 0x1p-127f);
      out[i] = (float) Math.sqrt((double) x[i] * x[i] + (double) y[i] * y[i]);
    }
    for (int i = 0; outside != 0 && i < n; i++) {
      if (Float.isInfinite(x[i]) || Float.isInfinite(y[i])) {
        out[i] = Float.POSITIVE_INFINITY;
      }
    }
  }

  static void log(float[] x, float[] out, MemorySegment segment, FloatParts work, int n) {
    boolean normal = work.split(segment, out, n);
    scaled(work.values, out, LN2, 1, n);
    for (int i = 0; !normal && i < n; i++) {
      if (!isPositiveNormal(x[i])) {
        out[i] = FloatFunctions.log(x[i]);
      }
    }
  }

  static void log2(float[] x, float[] out, MemorySegment segment, FloatParts work, int n) {
    boolean normal = work.split(segment, out, n);
    scaled(work.values, out, 1, 1 / LN2, n);
    for (int i = 0; !normal && i < n; i++) {
      if (!isPositiveNormal(x[i])) {
        out[i] = FloatFunctions.log2(x[i]);
      }
    }
  }

  static void log10(float[] x, float[] out, MemorySegment segment, FloatParts work, int n) {
    boolean normal = work.split(segment, out, n);
    scaled(work.values, out, LOG10_2, LOG10_2 / LN2, n);
    for (int i = 0; !normal && i < n; i++) {
      if (!isPositiveNormal(x[i])) {
        out[i] = FloatFunctions.log10(x[i]);
      }
    }
  }

  /** Computes logarithms from mantissas and from the exponents that {@code out} contains. */
  private static void scaled(float[] mantissas, float[] out, double two, double e, int n) {
    for (int i = 0; i < n; i++) {
      out[i] = (float) Math.fma(out[i], two, logarithm(mantissas[i]) * e);
    }
  }

  private static boolean isPositiveNormal(float x) {
    return x >= Float.MIN_NORMAL && x <= Float.MAX_VALUE;
  }

  static void pow(
      float[] x, float[] y, float[] out, MemorySegment segment, FloatParts work, int n) {
    boolean normal = work.split(segment, out, n);
    logarithms(work.values, out, work.doubles, n);
    int outside = powers(work.doubles, y, out, n);
    for (int i = 0; (outside != 0 || !normal) && i < n; i++) {
      double power = y[i] * Math.log(x[i]);
      if (!isPositiveNormal(x[i]) || !(Math.abs(power) < EXP_LIMIT - 1)) {
        out[i] = FloatFunctions.pow(x[i], y[i]);
      }
    }
  }

  /**
   * Computes the logarithms in a loop of their own: both halves of a power together are too long to
   * be vectorised.
   */
  private static void logarithms(float[] mantissas, float[] exponents, double[] out, int n) {
    for (int i = 0; i < n; i++) {
      out[i] = Math.fma(exponents[i], LN2, logarithm(mantissas[i]));
    }
  }

  private static int powers(double[] logarithms, float[] y, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      double power = y[i] * logarithms[i];
      float rounded = (float) power;
      // The second term is 0 except for NaN, which the first term converts to 0.
      outside |= (int) (rounded * (1 / (EXP_LIMIT - 1))) | (1 ^ (int) (rounded * 0 + 1));
      out[i] = (float) exponential(power * 0x1p-8);
    }
    return outside;
  }
}
