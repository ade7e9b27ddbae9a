package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;

/**
 * Basic vector operations: buffers are allocated once, several kernels use them in place, and only
 * requested results are copied back.
 */
public final class VectorOperations {
  private VectorOperations() {}

  /** Runs the example; the argument is the number of elements, 1,000,000 by default. */
  public static void main(String[] arguments) {
    int length = Check.size(arguments, 1_000_000);
    float[] a = new float[length];
    float[] b = new float[length];
    for (int i = 0; i < length; i++) {
      a[i] = i % 1000;
      b[i] = 0.5f * (i % 77);
    }
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<float[]> x = memory.copyOf(a);
        UnifiedBuffer<float[]> y = memory.copyOf(b);
        UnifiedBuffer<float[]> sum = memory.allocate(ElementType.FLOAT, length);
        UnifiedBuffer<float[]> largest = memory.allocate(ElementType.FLOAT, length);
        UnifiedBuffer<boolean[]> equal = memory.allocate(ElementType.BOOLEAN, length)) {
      System.out.println("on " + memory.accelerator().name());

      // Several results in one pass over the inputs.
      memory
          .compile(KernelSource.elementwise("sum = x + y; largest = max(x, y); equal = x == y"))
          .execute(Arguments.of("x", x, "y", y, "sum", sum, "largest", largest, "equal", equal));

      // A kernel is compiled once and may be called often; y is updated in place.
      Kernel saxpy = memory.compile(KernelSource.elementwise("y = a * x + y"));
      saxpy.execute(Arguments.of("a", 2f, "x", x, "y", y));
      // Slices share the bytes of their buffers; these are the first halves.
      int half = length / 2;
      saxpy.execute(Arguments.of("a", -2f, "x", x.slice(0, half), "y", y.slice(0, half)));

      float[] sums = new float[length];
      float[] maxima = new float[length];
      float[] updated = new float[length];
      boolean[] equalities = new boolean[length];
      sum.copyTo(sums);
      largest.copyTo(maxima);
      y.copyTo(updated);
      equal.copyTo(equalities);

      boolean right = true;
      for (int i = 0; i < length; i++) {
        float once = 2f * a[i] + b[i];
        right &=
            sums[i] == a[i] + b[i]
                && maxima[i] == Math.max(a[i], b[i])
                && equalities[i] == (a[i] == b[i])
                && updated[i] == (i < half ? -2f * a[i] + once : once);
      }
      Check.that(right, length + " sums, maxima, comparisons and updates are those of a loop");
    }
  }
}
