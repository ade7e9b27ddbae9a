package dev.tidepool.runtime.order;

import dev.tidepool.spi.support.FailureLog;

/** Closes what must not stop the rest from closing. */
public final class QuietClose {
  private QuietClose() {}

  /** Closes; an error is reported, not thrown. */
  public static void quietly(String what, AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception | Error e) {
      FailureLog.warn("closing ", what, " failed; the rest is closed all the same", e);
    }
  }
}
