package dev.tidepool.spi.support;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Waits that an interrupt does not end. The interrupt status is restored after the wait. */
public final class Uninterruptibly {
  private Uninterruptibly() {}

  /**
   * A step that may wait.
   *
   * @param <T> its result
   * @param <X> its other exceptions
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

  /** Runs a step, again after each interrupt, and returns its result. */
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

  /** Waits, again after each interrupt. */
  public static void await(Pause pause) {
    Uninterruptibly.<@Nullable Void, RuntimeException>get(
        () -> {
          pause.run();
          return null;
        });
  }

  /**
   * Waits on a monitor until a condition holds. The monitor guards the condition, and {@code
   * notifyAll} must signal changes.
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
   * Like {@link #await(Object, BooleanSupplier)}, but waits for at most some nanoseconds.
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
   * @param <X> its exceptions
   */
  @FunctionalInterface
  public interface Step<T extends @Nullable Object, X extends Exception> {
    T run() throws X;
  }

  /**
   * Runs a step with the interrupt status cleared, and restores the status afterwards. Calls of a
   * file channel need this, because an interrupt closes the channel.
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
   * Like {@link #shielded}, for a step that opens a file channel itself. If an interrupt during the
   * step closes the channel, the step runs again.
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
