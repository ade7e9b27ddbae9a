package dev.tidepool.expression.c;

/**
 * The parameters of a kernel, in the order in which launches give them: how a dialect declares
 * arrays and values, and how the body gets at them by their names.
 */
public interface KernelSignature {
  /** Adds a pointer to memory of the device. */
  void array(String pointer, String name);

  /** Adds a value. */
  void value(String type, String name);

  /** Returns what stands before the kernel. */
  String declarations();

  /** Returns what stands between the parentheses of the kernel. */
  String parameters();

  /** Returns what stands at the start of the body. */
  String prologue();
}
