package dev.tidepool.examples;

import dev.tidepool.Accelerator;
import dev.tidepool.ElementType;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;

/**
 * A matrix product by CLBlast in the memory of buffers. Without an OpenCL device or CLBlast, the
 * example prints what to install.
 */
public final class MatrixProduct {
  private MatrixProduct() {}

  /** Runs the example; the argument is the number of rows and columns, 256 by default. */
  public static void main(String[] arguments) {
    int n = Check.size(arguments, 256);
    float[] a = new float[n * n];
    float[] b = new float[n * n];
    for (int i = 0; i < n * n; i++) {
      a[i] = i % 7;
      b[i] = i % 5;
    }
    float[] c = new float[n * n];
    try (Tidepool tidepool = Tidepool.open()) {
      product(tidepool.memory(openCl(tidepool)), n, a, b, c);
    }
    boolean right = true;
    for (int row = 0; row < n; row++) {
      for (int column = 0; column < n; column++) {
        float sum = 0;
        for (int k = 0; k < n; k++) {
          sum += a[row * n + k] * b[k * n + column];
        }
        right &= c[row * n + column] == sum;
      }
    }
    Check.that(right, "the product of two matrices of " + n + " x " + n + " is right");
  }

  private static Accelerator openCl(Tidepool tidepool) {
    return tidepool.accelerators().stream()
        .filter(accelerator -> accelerator.id().startsWith("opencl:"))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("no OpenCL device; install pocl-opencl-icd"));
  }

  private static void product(UnifiedMemoryManager memory, int n, float[] a, float[] b, float[] c) {
    try (UnifiedBuffer<float[]> x = memory.copyOf(a);
        UnifiedBuffer<float[]> y = memory.copyOf(b);
        UnifiedBuffer<float[]> z = memory.allocate(ElementType.FLOAT, c.length)) {
      NativeKind kind = NativeKind.OPENCL_BUFFER; // CLBlast accepts only cl_mem
      try (NativeAccess access =
          memory.lend(
              NativeUse.read(x).as(kind),
              NativeUse.read(y).as(kind),
              NativeUse.write(z).as(kind))) {
        Clblast.sgemm(access.queue(), n, access.handle(x), access.handle(y), access.handle(z));
      }
      z.copyTo(c); // waits for CLBlast's kernels
    }
  }
}
