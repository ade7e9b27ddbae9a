package dev.tidepool.testkit.conformance;

import dev.tidepool.KernelMethod;
import dev.tidepool.WorkItem;

/** Java methods as kernels, which tests also call directly for the expected results. */
// Code that is bad style elsewhere must also be translated.
@SuppressWarnings({"ShortCircuitBoolean", "CompareToZero", "IntLongMath"})
final class MethodKernels {
  private MethodKernels() {}

  /** Computes the scores of all rows for one query, one row for each item. */
  @KernelMethod
  static void dot(WorkItem item, int dims, float[] rows, float[] query, float[] scores) {
    int row = (int) item.globalId(0);
    float sum = 0;
    for (int d = 0; d < dims; d++) {
      sum += rows[row * dims + d] * query[d];
    }
    scores[row] = sum;
  }

  /** Computes the element at the item's index. */
  @KernelMethod
  static void saxpy(int i, float a, float[] x, float[] y) {
    y[i] = a * x[i] + y[i];
  }

  static void transposed(WorkItem item, int rows, int columns, float[] in, float[] out) {
    int row = (int) item.globalId(1);
    int column = (int) item.globalId(0);
    out[column * rows + row] = in[row * columns + column];
  }

  static void ints(int i, int[] a, int[] b, int[] out) {
    int x = a[i];
    int y = b[i];
    int at = i * 12;
    out[at] = x + y;
    out[at + 1] = x - y * 3;
    out[at + 2] = x << y;
    out[at + 3] = x >> y;
    out[at + 4] = x >>> y;
    out[at + 5] = (byte) x + (short) y + (char) x;
    out[at + 6] = y == 0 ? 0 : x / y;
    out[at + 7] = y == 0 ? 0 : x % y;
    out[at + 8] = Math.abs(x) ^ Math.min(x, y) ^ Math.max(x, y);
    out[at + 9] = Integer.bitCount(x) + Integer.numberOfLeadingZeros(y) + Integer.reverse(x);
    out[at + 10] = Integer.compare(x, y) + Integer.signum(x) + (x + 1 > x ? 1 : 0);
    out[at + 11] = Math.floorMod(x, y | 1) + Integer.rotateLeft(x, y) + ~x;
  }

  static void longs(int i, long[] a, long[] b, long[] out) {
    long x = a[i];
    long y = b[i];
    int at = i * 8;
    out[at] = x + y;
    out[at + 1] = x * y - y;
    out[at + 2] = (x << y) ^ (x >>> (int) y) ^ (x >> 65);
    out[at + 3] = y == 0 ? 0 : x / y + x % y;
    out[at + 4] = Math.abs(x) + Math.min(x, y) - Math.max(x, y);
    out[at + 5] = Long.bitCount(x) + Long.numberOfLeadingZeros(y) + (int) x;
    out[at + 6] = Math.multiplyHigh(x, y);
    out[at + 7] = x < y ? (long) (float) x : (long) (float) y;
  }

  static void floats(int i, float[] a, float[] b, float[] out) {
    float x = a[i];
    float y = b[i];
    int at = i * 12;
    out[at] = x + y * x - y;
    out[at + 1] = x / y;
    out[at + 2] = x % y;
    out[at + 3] = Math.min(x, y);
    out[at + 4] = Math.max(x, y);
    out[at + 5] = (float) Math.sqrt(x);
    out[at + 6] = Math.fma(x, y, x);
    out[at + 7] = (float) Math.floor(x) + (float) Math.ceil(y) + (float) Math.rint(x);
    out[at + 8] = Math.round(x);
    out[at + 9] = Math.copySign(x, y) + Math.signum(x) + Math.abs(y);
    out[at + 10] = (int) x + (long) y;
    out[at + 11] = x < y ? 1 : x >= y ? 2 : -x;
  }

  static void doubles(int i, double[] a, double[] b, double[] out) {
    double x = a[i];
    double y = b[i];
    int at = i * 9;
    out[at] = x + y * x - y;
    out[at + 1] = x / y;
    out[at + 2] = x % y;
    out[at + 3] = Math.min(x, y) - Math.max(y, x);
    out[at + 4] = Math.sqrt(x) + Math.rint(y);
    out[at + 5] = Math.fma(x, y, x);
    out[at + 6] = Math.round(x) + (int) y + (long) x;
    long whole = (long) y;
    out[at + 8] = (long) (double) (whole * 3);
    out[at + 7] = !(x > y) ? (float) x : Math.copySign(1.5, y);
  }

  static void smallTypes(int i, boolean[] flags, byte[] bytes, short[] shorts, boolean invert) {
    boolean flag = flags[i] ^ invert;
    bytes[i] = (byte) (bytes[i] + (flag ? 100 : 29));
    shorts[i] = (short) (shorts[i] * bytes[i]);
    flags[i] = !flag & (shorts[i] & 1) == 0;
  }

  @SuppressWarnings("fallthrough") // Must also be translated.
  static void controlFlow(int i, int[] x, int[] out) {
    int n = 0;
    int[] seen = new int[4];
    outer:
    for (int a = 0; a < 12; a++) {
      int b = 0;
      while (true) {
        if (b >= a) {
          continue outer;
        }
        switch ((x[i] + b) & 7) {
          case 0, 3:
            n++;
            break;
          case 1:
            b += 2;
            continue;
          case 2:
            if (n > 40) {
              break outer;
            }
          // falls through
          case 5:
            n += collatz(a + b);
            break;
          default:
            n -= b % 3 == 0 ? 1 : 2;
        }
        seen[n & 3] += b;
        b++;
      }
    }
    do {
      n += seen[n & 3] & 1;
      if (n < 0) {
        out[i] = -n;
        return;
      }
    } while ((n++ & 15) != 7 && n < 500);
    out[i] = n;
  }

  private static int collatz(int start) {
    int steps = 0;
    for (int value = start; value > 1; steps++) {
      value = (value & 1) == 0 ? value / 2 : 3 * value + 1;
    }
    return steps;
  }

  static void arraysOfItsOwn(WorkItem item, int n, float[] x, float[] y) {
    int i = (int) item.globalId(0);
    float[] own = new float[16];
    for (int q = 0; q < 16; q++) {
      own[q] = x[q] + q;
    }
    float[] shared = item.localFloats(16);
    for (int q = 0; q < n; q++) {
      shared[q] = own[n - 1 - q];
    }
    float sum = 0;
    for (int q = 0; q < n; q++) {
      sum += own[q] * shared[q];
    }
    int[] counts = new int[4];
    for (int q = 0; q < 4; q++) {
      counts[q] = q + i;
    }
    y[i] = sum + counts[i & 3];
  }

  static void ownArray(int i, long[] out) {
    long[] own = new long[8];
    for (int k = 0; k < own.length; k++) {
      own[k] = (long) i << (k * 7);
    }
    for (int k = 0; k < own.length; k++) {
      out[i] = 31 * out[i] + (own[k] ^ (own[k] >>> 32));
    }
  }

  static void constantRint(int i, float[] out) {
    if ((float) Math.rint(Float.POSITIVE_INFINITY) < 1f) {
      out[i] = -1;
    }
    out[i] += (float) Math.rint(0.5f + i) + (float) Math.rint(-1.5f);
  }

  static void constantsRounded(int i, double[] out, float[] single, long[] whole) {
    out[8 * i] = Math.floor(Math.signum(Double.NaN));
    out[8 * i + 1] = Math.ceil(Double.NEGATIVE_INFINITY);
    out[8 * i + 2] = Math.rint(Double.NaN);
    out[8 * i + 3] = Math.floor(-0.5) + Math.ceil(1.25) + Math.rint(2.5);
    out[8 * i + 4] = Math.floor(Double.POSITIVE_INFINITY);
    out[8 * i + 5] = Math.rint(16777217.5 + i);
    out[8 * i + 6] = Math.ceil(i * -0.25);
    out[8 * i + 7] = Math.floor(i * -0.25 + 4503599627370495.5);
    single[4 * i] = (float) Math.floor(Float.NaN);
    single[4 * i + 1] = (float) Math.ceil(Float.NEGATIVE_INFINITY);
    single[4 * i + 2] = (float) Math.rint(0.5f + i);
    single[4 * i + 3] = (float) Math.ceil(i * -0.25f);
    whole[4 * i] = Math.round(Double.NaN);
    whole[4 * i + 1] = Math.round(Double.POSITIVE_INFINITY);
    whole[4 * i + 2] = Math.round(Float.NEGATIVE_INFINITY);
    whole[4 * i + 3] = Math.round(i * 0.5 - 3) + Math.round(i * 0.5f - 3);
  }

  static void gather(int i, int[] indices, float[] x, float[] y) {
    y[i] = x[indices[i]];
  }

  static void fillDown(int i, int from, int to, float[] x) {
    for (int j = from; j >= to; j--) {
      x[j] = i + 7;
    }
  }

  static void fillUp(int i, int from, int to, float[] x) {
    for (int j = from; j <= to; j++) {
      x[j] = i + 7;
    }
  }

  static void fillMirrored(int i, int from, int to, float[] x) {
    for (int j = from; j <= to; j++) {
      x[9 - j] = i + 7;
    }
  }

  static void fillDownInTwoLoops(int i, int from, int to, float[] x) {
    for (int j = from; j >= to; j -= 3) {
      for (int k = 1; k >= 0; k--) {
        x[2 * j + k] = i + 7;
      }
    }
  }

  static void quotients(int i, int[] a, int[] b, int[] out) {
    out[i] = a[i] / b[i];
  }

  static void functionsOfFloats(int i, float[] x, float[] y, float[] out) {
    float a = x[i];
    float b = y[i];
    int at = i * 19;
    out[at] = (float) Math.sin(a);
    out[at + 1] = (float) Math.cos(a);
    out[at + 2] = (float) Math.tan(a);
    out[at + 3] = (float) Math.asin(a);
    out[at + 4] = (float) Math.acos(a);
    out[at + 5] = (float) Math.atan(a);
    out[at + 6] = (float) Math.sinh(a);
    out[at + 7] = (float) Math.cosh(a);
    out[at + 8] = (float) Math.tanh(a);
    out[at + 9] = (float) Math.exp(a);
    out[at + 10] = (float) Math.expm1(a);
    out[at + 11] = (float) Math.log(a);
    out[at + 12] = (float) Math.log10(a);
    out[at + 13] = (float) Math.log1p(a);
    out[at + 14] = (float) Math.cbrt(a);
    out[at + 15] = (float) Math.sqrt(a);
    out[at + 16] = (float) Math.atan2(a, b);
    out[at + 17] = (float) Math.hypot(a, b);
    out[at + 18] = (float) Math.pow(a, b);
  }

  static void functionsOfDoubles(int i, double[] x, double[] y, double[] out) {
    double a = x[i];
    double b = y[i];
    int at = i * 19;
    out[at] = Math.sin(a);
    out[at + 1] = Math.cos(a);
    out[at + 2] = Math.tan(a);
    out[at + 3] = Math.asin(a);
    out[at + 4] = Math.acos(a);
    out[at + 5] = Math.atan(a);
    out[at + 6] = Math.sinh(a);
    out[at + 7] = Math.cosh(a);
    out[at + 8] = Math.tanh(a);
    out[at + 9] = Math.exp(a);
    out[at + 10] = Math.expm1(a);
    out[at + 11] = Math.log(a);
    out[at + 12] = Math.log10(a);
    out[at + 13] = Math.log1p(a);
    out[at + 14] = Math.cbrt(a);
    out[at + 15] = Math.sqrt(a);
    out[at + 16] = Math.atan2(a, b);
    out[at + 17] = Math.hypot(a, b);
    out[at + 18] = Math.pow(a, b);
  }

  static void strictSigns(int i, float[] x, float[] y, float[] out) {
    out[i] = StrictMath.copySign(x[i], y[i]);
  }

  static void loadsWhatItStored(int i, int[] x, int[] y, int[] z) {
    y[i] = 3 * i + 1;
    z[i] = x[i];
  }

  static void storesTwice(int i, int[] x, int[] y) {
    x[i] = i + 1;
    y[i] = 2 * y[i];
  }

  static void sumsOfEach(int i, int[] x, boolean[] flags, long[] out) {
    int[] own = new int[3];
    own[i % 3] = i;
    long sum = 0;
    for (int value : x) {
      sum = 3 * sum + (value ^ i);
    }
    for (boolean flag : flags) {
      sum += flag ? i : 1;
    }
    for (int value : own) {
      sum = 5 * sum + value;
    }
    out[i] = sum;
  }

  static void doubledInside(int i, float[] x, float[] y) {
    if (i < y.length) {
      y[i] = 2 * x[i];
    }
  }

  static void doubledUnlessOutside(WorkItem item, float[] x, float[] y) {
    if (item.globalId(0) >= y.length) {
      return;
    }
    int i = (int) item.globalId(0);
    y[i] = 2 * x[i];
  }
}
