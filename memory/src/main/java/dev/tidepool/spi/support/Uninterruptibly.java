package dev.tidepool.spi.support;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Waits that an interrupt does not end. The interrupt is set again when the wait is over. */
public final class Uninterruptibly {
  private Uninterruptibly() {}

  /**
   * A step that may wait.
   *
   * @param <T> its result
   * @param <X> what it throws besides {@link InterruptedException}
   */
  @FunctionalInterface
  public interface Wait<T extends @Nullable Object, X extends Exception> {
    T run() throws InterruptedException, X;
  }

  /** A wait without a result. */
  @FunctionalInterface
  public interface Pause {
    /** Waits. */
    void run() throws InterruptedException;
  }

  /** Runs a step, and runs it again whenever an interrupt ends it; returns its result. */
  public static <T extends @Nullable Object, X extends Exception> T get(Wait<T, X> step) throws X {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return step.run();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Waits, and waits again whenever an interrupt ends the wait. */
  public static void await(Pause pause) {
    Uninterruptibly.<@Nullable Void, RuntimeException>get(
        () -> {
          pause.run();
          return null;
        });
  }

  /**
   * Waits on a monitor until a condition holds that the monitor guards, and that {@code notifyAll}
   * announces.
   */
  public static void await(Object monitor, BooleanSupplier condition) {
    synchronized (monitor) {
      await(
          () -> {
            while (!condition.getAsBoolean()) {
              monitor.wait();
            }
          });
    }
  }

  /**
   * Waits on a monitor until a condition holds that the monitor guards, and that {@code notifyAll}
   * announces, but only for some time.
   *
   * @return whether the condition holds
   */
  public static boolean await(Object monitor, long nanos, BooleanSupplier condition) {
    long start = System.nanoTime();
    synchronized (monitor) {
      await(
          () -> {
            long left = nanos - (System.nanoTime() - start);
            while (left > 0 && !condition.getAsBoolean()) {
              monitor.wait(left / 1_000_000, (int) (left % 1_000_000));
              left = nanos - (System.nanoTime() - start);
            }
          });
      return condition.getAsBoolean();
    }
  }

  /**
   * A step that fails if the thread is interrupted.
   *
   * @param <T> its result
   * @param <X> what it throws
   */
  @FunctionalInterface
  public interface Step<T extends @Nullable Object, X extends Exception> {
    T run() throws X;
  }

  /**
   * Runs a step without the interrupt that is set on this thread, and sets it again afterwards.
   * Calls of a file channel need that: an interrupt closes the channel.
   */
  public static <T extends @Nullable Object, X extends Exception> T shielded(Step<T, X> step)
      throws X {
    boolean interrupted = Thread.interrupted();
    try {
      return step.run();
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Runs a step that opens a file channel itself, without the interrupt that is set on this thread,
   * and sets it again afterwards. An interrupt that comes meanwhile closes the channel; the step
   * runs again then.
   */
  public static <T extends @Nullable Object> T reopening(Step<T, IOException> step)
      throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        try {
          return step.run();
        } catch (ClosedByInterruptException e) {
          interrupted |= Thread.interrupted();
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
