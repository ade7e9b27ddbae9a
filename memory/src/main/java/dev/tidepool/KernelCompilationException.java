package dev.tidepool;

/** A kernel's source was refused, by the elementwise language or by an accelerator's compiler. */
public class KernelCompilationException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  private final String log;

  /** Creates the exception; {@code log} is what the compiler printed, or empty. */
  public KernelCompilationException(String message, String log) {
    super(message);
    this.log = log;
  }

  /** Returns what the compiler printed, with its line numbers; empty if it printed nothing. */
  public String log() {
    return log;
  }
}
