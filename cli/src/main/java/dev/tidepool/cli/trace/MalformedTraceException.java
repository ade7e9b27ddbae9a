package dev.tidepool.cli.trace;

/** Thrown if a file is not a trace, or contradicts itself. */
public final class MalformedTraceException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  MalformedTraceException(String message) {
    super(message);
  }
}
