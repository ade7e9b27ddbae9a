package dev.tidepool.expression.c;

import dev.tidepool.expression.syntax.Op;

/**
 * Floor, ceil and rint in C, for languages in which they differ from Java's. PoCL's are undefined
 * for a constant that is not finite: its compiler removes the code that follows.
 */
public final class Rounding {
  private Rounding() {}

  /**
   * Returns the body of a function of {@code a}, a value of type {@code T}.
   *
   * @param single true if {@code T} is float, false if it is double
   */
  public static String body(Op op, boolean single) {
    String result =
        switch (op) {
          case FLOOR -> "copysign(r > a ? r - 1 : r, a)";
          case CEIL -> "copysign(r < a ? r + 1 : r, a)";
          case RINT -> "copysign(r, a)";
          default -> throw new AssertionError(op);
        };
    // r is the nearest whole number. All numbers from m on are whole.
    return """
    const T m = %s;
    const T n = (fabs(a) + m) - m;
    const T r = a < 0 ? -n : n;
    return fabs(a) < m ? %s : a;
    """
        .formatted(single ? "8388608.0f" : "4503599627370496.0", result);
  }
}
