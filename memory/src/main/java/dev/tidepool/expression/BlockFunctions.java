package dev.tidepool.expression;

import java.lang.constant.ClassDesc;
import java.util.EnumSet;
import java.util.Set;

/**
 * Functions on whole blocks of floats, written so that C2 vectorises them: arithmetic in double
 * without branches or bit tricks, good to about 1e-12 before the one rounding to float. Arguments
 * for which that fails (not finite, overflowing, huge) are noticed on the way by an integer that
 * ought to stay zero, and only then computed again, one by one.
 */
final class BlockFunctions {
  static final ClassDesc OWNER = BlockFunctions.class.describeConstable().orElseThrow();

  private static final Set<Op> FUNCTIONS = EnumSet.of(Op.EXP, Op.SIN);

  private BlockFunctions() {}

  /** Whether there is a routine for the function and its type. */
  static boolean has(Node node) {
    return node.type() == ScalarType.FLOAT32 && FUNCTIONS.contains(node.op());
  }

  /** Above, results overflow or come near to it; below its negative, they are denormal or 0. */
  private static final float EXP_LIMIT = 87;

  /** e to the x: the Taylor polynomial of e to the x/256, squared eight times. */
  static void exp(float[] x, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / EXP_LIMIT));
      double r = x[i] * 0x1p-8;
      double p = Math.fma(r, 1.0 / 40320, 1.0 / 5040);
      p = Math.fma(p, r, 1.0 / 720);
      p = Math.fma(p, r, 1.0 / 120);
      p = Math.fma(p, r, 1.0 / 24);
      p = Math.fma(p, r, 1.0 / 6);
      p = Math.fma(p, r, 0.5);
      p = Math.fma(p, r, 1);
      p = Math.fma(p, r, 1);
      p *= p;
      p *= p;
      p *= p;
      p *= p;
      p *= p;
      p *= p;
      p *= p;
      p *= p;
      out[i] = (float) p;
    }
    if (outside != 0) {
      for (int i = 0; i < n; i++) {
        if (!(Math.abs(x[i]) < EXP_LIMIT)) {
          out[i] = FloatFunctions.exp(x[i]);
        }
      }
    }
  }

  /** Multiples of pi are subtracted in two parts up to here. */
  private static final float SIN_LIMIT = 0x1p40f;

  private static final double PI_REST = 1.2246467991473532e-16;

  /** The remainder by pi, an odd polynomial, and the sign of the multiple's parity. */
  static void sin(float[] x, float[] out, int n) {
    int outside = 0;
    for (int i = 0; i < n; i++) {
      outside |= (int) (x[i] * (1 / SIN_LIMIT));
      double v = x[i];
      double k = Math.rint(v * (1 / Math.PI));
      double r = Math.fma(-k, Math.PI, v);
      r = Math.fma(-k, PI_REST, r);
      double z = r * r;
      double p = Math.fma(z, -1 / 1307674368000.0, 1 / 6227020800.0);
      p = Math.fma(p, z, -1 / 39916800.0);
      p = Math.fma(p, z, 1 / 362880.0);
      p = Math.fma(p, z, -1 / 5040.0);
      p = Math.fma(p, z, 1 / 120.0);
      p = Math.fma(p, z, -1 / 6.0);
      p = Math.fma(p, z, 1);
      double parity = Math.fma(-2, Math.floor(k * 0.5), k);
      out[i] = (float) (r * Math.fma(-2, parity, 1) * p);
    }
    if (outside != 0) {
      for (int i = 0; i < n; i++) {
        if (!(Math.abs(x[i]) < SIN_LIMIT)) {
          out[i] = FloatFunctions.sin(x[i]);
        }
      }
    }
  }
}
