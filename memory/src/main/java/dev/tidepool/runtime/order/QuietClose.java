package dev.tidepool.runtime.order;

import java.lang.System.Logger.Level;

/** Closes what must not stop the rest from closing. */
public final class QuietClose {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  private QuietClose() {}

  /** Closes; an error is reported, not thrown. */
  public static void quietly(String what, AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception | Error e) {
      LOG.log(Level.WARNING, "closing " + what + " failed; the rest is closed all the same", e);
    }
  }
}
