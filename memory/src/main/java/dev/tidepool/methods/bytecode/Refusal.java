package dev.tidepool.methods.bytecode;

import dev.tidepool.KernelCompilationException;

/** Errors about kernels that cannot be translated. */
final class Refusal {
  private Refusal() {}

  /**
   * Returns an error about a construct.
   *
   * @param method the class and method, as {@code Kernels.dot}
   * @param line in the source; 0 or less if the class file does not tell
   * @param what the construct, as the start of a sentence
   * @param remedy what to do instead
   */
  static KernelCompilationException at(String method, int line, String what, String remedy) {
    return new KernelCompilationException(
        method
            + (line > 0 ? ", line " + line : "")
            + ": "
            + what
            + " cannot be part of a kernel; "
            + remedy,
        "");
  }

  /** Returns an error about a method as a whole. */
  static KernelCompilationException of(String method, String what) {
    return new KernelCompilationException(method + " " + what, "");
  }

  /** Returns an error with its cause. */
  static KernelCompilationException because(
      RuntimeException cause, KernelCompilationException refused) {
    refused.initCause(cause);
    return refused;
  }
}
