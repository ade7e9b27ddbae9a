package dev.tidepool.spi.support;

/** Describes a failure as a part of a message. */
public final class FailureText {
  private FailureText() {}

  /** Returns the message of a failure, or its class name if it has none. */
  public static String of(Throwable failure) {
    String message = failure.getMessage();
    return message == null ? failure.toString() : message;
  }
}
