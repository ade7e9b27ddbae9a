package dev.tidepool.expression.math;

/**
 * Operators that NumPy defines differently from Java, for one element at a time. Generated loops
 * call these methods, and the compiler inlines them.
 *
 * <p>Booleans are the ints 0 and 1. Integers narrower than 32 bits are passed as ints, and the
 * caller narrows results to their width. Division by zero is tested here and never left to the
 * processor's trap: some OpenCL drivers replace the signal handler that Java relies on.
 */
public final class ElementMath {
  private ElementMath() {}

  public static float floorDivide(float a, float b) {
    if (b == 0) {
      return a / b;
    }
    float remainder = a % b;
    float quotient = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) {
      quotient -= 1;
    }
    if (quotient == 0) {
      return Math.copySign(0f, a / b);
    }
    float floor = (float) Math.floor(quotient);
    return quotient - floor > 0.5f ? floor + 1 : floor;
  }

  public static double floorDivide(double a, double b) {
    if (b == 0) {
      return a / b;
    }
    double remainder = a % b;
    double quotient = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) {
      quotient -= 1;
    }
    if (quotient == 0) {
      return Math.copySign(0.0, a / b);
    }
    double floor = Math.floor(quotient);
    return quotient - floor > 0.5 ? floor + 1 : floor;
  }

  public static float remainder(float a, float b) {
    float remainder = a % b;
    if (remainder == 0) {
      return Math.copySign(0f, b);
    }
    return (b < 0) != (remainder < 0) ? remainder + b : remainder;
  }

  public static double remainder(double a, double b) {
    double remainder = a % b;
    if (remainder == 0) {
      return Math.copySign(0.0, b);
    }
    return (b < 0) != (remainder < 0) ? remainder + b : remainder;
  }

  public static int floorDivide(int a, int b) {
    return b == 0 ? 0 : Math.floorDiv(a, b);
  }

  public static int floorDivideUnsigned(int a, int b) {
    return b == 0 ? 0 : Integer.divideUnsigned(a, b);
  }

  public static int remainder(int a, int b) {
    return b == 0 ? 0 : Math.floorMod(a, b);
  }

  public static int remainderUnsigned(int a, int b) {
    return b == 0 ? 0 : Integer.remainderUnsigned(a, b);
  }

  /**
   * Returns the power, which wraps. For a negative exponent the value is truncated to an integer,
   * and is 0 for base 0.
   */
  public static int pow(int base, int exponent) {
    if (exponent < 0) {
      return base == 1 ? 1 : base == -1 ? 1 - 2 * (exponent & 1) : 0;
    }
    return powUnsigned(base, exponent);
  }

  public static int powUnsigned(int base, int exponent) {
    int result = 1;
    int square = base;
    for (int rest = exponent; rest != 0; rest >>>= 1) {
      if ((rest & 1) != 0) {
        result *= square;
      }
      square *= square;
    }
    return result;
  }

  /**
   * Returns a shifted value. A count outside of the width, including a negative one, shifts out all
   * bits.
   */
  public static int shiftLeft(int a, int count) {
    return (count & -Integer.SIZE) == 0 ? a << count : 0;
  }

  public static int shiftRight(int a, int count) {
    return (count & -Integer.SIZE) == 0 ? a >> count : a >> (Integer.SIZE - 1);
  }

  public static int shiftRightUnsigned(int a, int count) {
    return (count & -Integer.SIZE) == 0 ? a >>> count : 0;
  }

  public static int minUnsigned(int a, int b) {
    return a + Integer.MIN_VALUE < b + Integer.MIN_VALUE ? a : b;
  }

  public static int maxUnsigned(int a, int b) {
    return a + Integer.MIN_VALUE > b + Integer.MIN_VALUE ? a : b;
  }

  public static int lessUnsigned(int a, int b) {
    return a + Integer.MIN_VALUE < b + Integer.MIN_VALUE ? 1 : 0;
  }

  public static int lessEqualUnsigned(int a, int b) {
    return a + Integer.MIN_VALUE <= b + Integer.MIN_VALUE ? 1 : 0;
  }

  public static long floorDivide(long a, long b) {
    return b == 0 ? 0 : Math.floorDiv(a, b);
  }

  public static long floorDivideUnsigned(long a, long b) {
    return b == 0 ? 0 : Long.divideUnsigned(a, b);
  }

  public static long remainder(long a, long b) {
    return b == 0 ? 0 : Math.floorMod(a, b);
  }

  public static long remainderUnsigned(long a, long b) {
    return b == 0 ? 0 : Long.remainderUnsigned(a, b);
  }

  /**
   * Returns the power, which wraps. For a negative exponent the value is truncated to an integer,
   * and is 0 for base 0.
   */
  public static long pow(long base, long exponent) {
    if (exponent < 0) {
      return base == 1 ? 1 : base == -1 ? 1 - 2 * (exponent & 1) : 0;
    }
    return powUnsigned(base, exponent);
  }

  public static long powUnsigned(long base, long exponent) {
    long result = 1;
    long square = base;
    for (long rest = exponent; rest != 0; rest >>>= 1) {
      if ((rest & 1) != 0) {
        result *= square;
      }
      square *= square;
    }
    return result;
  }

  /**
   * Returns a shifted value. A count outside of the width, including a negative one, shifts out all
   * bits.
   */
  public static long shiftLeft(long a, long count) {
    return (count & -Long.SIZE) == 0 ? a << count : 0;
  }

  public static long shiftRight(long a, long count) {
    return (count & -Long.SIZE) == 0 ? a >> count : a >> (Long.SIZE - 1);
  }

  public static long shiftRightUnsigned(long a, long count) {
    return (count & -Long.SIZE) == 0 ? a >>> count : 0;
  }

  public static long minUnsigned(long a, long b) {
    return a + Long.MIN_VALUE < b + Long.MIN_VALUE ? a : b;
  }

  public static long maxUnsigned(long a, long b) {
    return a + Long.MIN_VALUE > b + Long.MIN_VALUE ? a : b;
  }

  public static int lessUnsigned(long a, long b) {
    return a + Long.MIN_VALUE < b + Long.MIN_VALUE ? 1 : 0;
  }

  public static int lessEqualUnsigned(long a, long b) {
    return a + Long.MIN_VALUE <= b + Long.MIN_VALUE ? 1 : 0;
  }

  public static int less(int a, int b) {
    return a < b ? 1 : 0;
  }

  public static int lessEqual(int a, int b) {
    return a <= b ? 1 : 0;
  }

  public static int equal(int a, int b) {
    return a == b ? 1 : 0;
  }

  public static int notEqual(int a, int b) {
    return a != b ? 1 : 0;
  }

  public static int select(int condition, int yes, int no) {
    return condition != 0 ? yes : no;
  }

  public static int truth(int a) {
    return a != 0 ? 1 : 0;
  }

  public static int less(long a, long b) {
    return a < b ? 1 : 0;
  }

  public static int lessEqual(long a, long b) {
    return a <= b ? 1 : 0;
  }

  public static int equal(long a, long b) {
    return a == b ? 1 : 0;
  }

  public static int notEqual(long a, long b) {
    return a != b ? 1 : 0;
  }

  public static long select(int condition, long yes, long no) {
    return condition != 0 ? yes : no;
  }

  public static int truth(long a) {
    return a != 0 ? 1 : 0;
  }

  public static int less(float a, float b) {
    return a < b ? 1 : 0;
  }

  public static int lessEqual(float a, float b) {
    return a <= b ? 1 : 0;
  }

  public static int equal(float a, float b) {
    return a == b ? 1 : 0;
  }

  public static int notEqual(float a, float b) {
    return a != b ? 1 : 0;
  }

  public static float select(int condition, float yes, float no) {
    return condition != 0 ? yes : no;
  }

  public static int truth(float a) {
    return a != 0 ? 1 : 0;
  }

  public static int less(double a, double b) {
    return a < b ? 1 : 0;
  }

  public static int lessEqual(double a, double b) {
    return a <= b ? 1 : 0;
  }

  public static int equal(double a, double b) {
    return a == b ? 1 : 0;
  }

  public static int notEqual(double a, double b) {
    return a != b ? 1 : 0;
  }

  public static double select(int condition, double yes, double no) {
    return condition != 0 ? yes : no;
  }

  public static int truth(double a) {
    return a != 0 ? 1 : 0;
  }

  /** Returns the nearest double to an unsigned 64-bit integer. */
  public static double unsignedToDouble(long a) {
    if (a >= 0) {
      return a;
    }
    // Half of the number, with its last bit kept sticky, rounds as the whole number would.
    return 2.0 * ((a >>> 1) | (a & 1));
  }

  /** Returns the nearest float to an unsigned 64-bit integer. */
  public static float unsignedToFloat(long a) {
    if (a >= 0) {
      return a;
    }
    return 2f * ((a >>> 1) | (a & 1));
  }
}
