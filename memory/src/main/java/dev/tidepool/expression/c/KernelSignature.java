package dev.tidepool.expression.c;

/**
 * The parameters of a kernel, in the order of a launch's arguments. Defines how a dialect declares
 * arrays and values, and how the body reads them by their names.
 */
public interface KernelSignature {
  /** Adds a pointer to memory of the device. */
  void array(String pointer, String name);

  /** Adds a value. */
  void value(String type, String name);

  /** Returns the text before the kernel. */
  String declarations();

  /** Returns the text between the parentheses of the kernel. */
  String parameters();

  /** Returns the text at the start of the body. */
  String prologue();
}
