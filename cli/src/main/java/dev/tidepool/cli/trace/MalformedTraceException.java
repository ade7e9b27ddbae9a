package dev.tidepool.cli.trace;

/** A file is no trace, or contradicts itself. */
public final class MalformedTraceException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  MalformedTraceException(String message) {
    super(message);
  }
}
