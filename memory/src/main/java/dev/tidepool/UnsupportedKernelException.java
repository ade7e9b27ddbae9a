package dev.tidepool;

/**
 * Thrown if a kernel needs something that an accelerator lacks, such as 64-bit floats or enough
 * memory for its groups. Its source is correct: other accelerators may run it. If there are several
 * sources, the next is tried.
 */
public final class UnsupportedKernelException extends KernelCompilationException {
  private static final long serialVersionUID = 1L;

  /** Creates an exception. */
  public UnsupportedKernelException(String message) {
    super(message, "");
  }
}
