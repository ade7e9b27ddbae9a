package dev.tidepool.testkit.kernels;

import org.jspecify.annotations.Nullable;

/**
 * A kernel whose result differs from that of its method.
 *
 * @param seed the seed of the kernel
 * @param what the difference
 * @param cause the exception of the kernel, if any
 */
public record Mismatch(long seed, String what, @Nullable Throwable cause) {
  /**
   * Returns whether type, place and message of two faults agree. The JVM omits place and message in
   * compiled methods.
   *
   * @param owner the class of the kernel
   */
  static boolean isSameFault(Throwable plain, Throwable kernel, Class<?> owner) {
    if (plain.getClass() != kernel.getClass()
        || kernel.getStackTrace().length == 0
        || !isSameMessage(plain.getMessage(), kernel.getMessage())) {
      return false;
    }
    StackTraceElement top = kernel.getStackTrace()[0];
    if (plain.getStackTrace().length == 0) {
      return top.getClassName().equals(owner.getName());
    }
    for (StackTraceElement frame : plain.getStackTrace()) {
      boolean isMethod =
          frame.getMethodName().equals(top.getMethodName())
              && frame.getClassName().equals(top.getClassName());
      if (isMethod) {
        return frame.getLineNumber() == top.getLineNumber();
      }
      if (frame.getClassName().equals(owner.getName())) {
        return false;
      }
    }
    return false;
  }

  /**
   * Returns whether a kernel's message is Java's. For arrays, the kernel's message also has a name.
   */
  private static boolean isSameMessage(@Nullable String plain, @Nullable String kernel) {
    return plain == null
        || plain.equals(kernel)
        || (kernel != null && kernel.startsWith(plain + " of "));
  }
}
