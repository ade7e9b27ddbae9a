package dev.tidepool;

/** Thrown if the elementwise language or an accelerator's compiler rejects a kernel's source. */
public class KernelCompilationException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  private final String log;

  /**
   * Creates an exception.
   *
   * @param log the output of the compiler; may be empty
   */
  public KernelCompilationException(String message, String log) {
    super(message);
    this.log = log;
  }

  /** Returns the output of the compiler, with its line numbers; empty if there was none. */
  public String log() {
    return log;
  }
}
