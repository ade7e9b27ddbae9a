package dev.tidepool.spi.support;

import java.lang.System.Logger.Level;
import java.util.function.Consumer;

/**
 * Runs the steps of a close. All steps are tried, even if a driver is broken or a device is lost;
 * failures are logged.
 */
public final class Closing {
  private Closing() {}

  /** Runs a step, and logs its failure. Use this if the failure's message names the call. */
  public static void surviving(AutoCloseable step) {
    surviving("a step", step);
  }

  /**
   * Runs a step, and logs its failure.
   *
   * @param what the name of the step in the log
   */
  public static void surviving(String what, AutoCloseable step) {
    try {
      step.close();
    } catch (Exception | Error e) {
      failed(what, e);
    }
  }

  /**
   * Closes each object. An {@code OutOfMemoryError} or {@code StackOverflowError} is thrown after
   * the others are closed, because another attempt may succeed.
   *
   * @param what the name of an object in the log
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
