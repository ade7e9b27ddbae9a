package dev.tidepool;

/**
 * A kernel needs what an accelerator lacks, such as 64-bit floats or enough memory for its groups.
 * Its source is right: other accelerators may run it. Where there are several sources, the next is
 * tried.
 */
public final class UnsupportedKernelException extends KernelCompilationException {
  private static final long serialVersionUID = 1L;

  /** Creates the exception. */
  public UnsupportedKernelException(String message) {
    super(message, "");
  }
}
