package dev.tidepool.runtime.order;

import dev.tidepool.spi.support.FailureLog;
import java.util.function.Consumer;

/** Closes what must not stop the rest from closing. */
public final class QuietClose {
  private QuietClose() {}

  /** Closes; an error is reported, not thrown. */
  public static void quietly(String what, AutoCloseable closeable) {
    try {
      closeable.close();
    } catch (Exception | Error e) {
      report(what, e);
    }
  }

  /**
   * Closes each. What fails is reported; a full heap or a short stack is thrown when the others are
   * closed, because another attempt may succeed.
   */
  public static <T> void each(String what, Iterable<T> open, Consumer<T> close) {
    VirtualMachineError failure = null;
    for (T one : open) {
      try {
        close.accept(one);
      } catch (VirtualMachineError e) {
        failure = e;
      } catch (RuntimeException | Error e) {
        report(what, e);
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  private static void report(Object what, Throwable failure) {
    FailureLog.warn("closing ", what, " failed; the rest is closed all the same", failure);
  }
}
