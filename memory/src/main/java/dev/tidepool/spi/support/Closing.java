package dev.tidepool.spi.support;

import java.lang.System.Logger.Level;
import java.util.function.Consumer;

/**
 * Steps of a close that must all be tried, whatever a broken driver or a lost device answers. What
 * fails is logged.
 */
public final class Closing {
  private Closing() {}

  /** Runs a step; its failure, whose message names the call, ends nothing. */
  public static void surviving(AutoCloseable step) {
    surviving("a step", step);
  }

  /**
   * Runs a step; its failure ends nothing.
   *
   * @param what failed, for the log
   */
  public static void surviving(String what, AutoCloseable step) {
    try {
      step.close();
    } catch (Exception | Error e) {
      failed(what, e);
    }
  }

  /**
   * Closes each. A full heap or a short stack is thrown when the others are closed, because another
   * attempt may succeed.
   *
   * @param what failed, for the log
   */
  public static <T> void each(String what, Iterable<T> open, Consumer<T> close) {
    VirtualMachineError failure = null;
    for (T one : open) {
      try {
        close.accept(one);
      } catch (VirtualMachineError e) {
        failure = e;
      } catch (RuntimeException | Error e) {
        failed(what, e);
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  private static void failed(String what, Throwable failure) {
    FailureLog.ofDriver(Closing.class, Level.WARNING, what, " failed while closing", failure);
  }
}
