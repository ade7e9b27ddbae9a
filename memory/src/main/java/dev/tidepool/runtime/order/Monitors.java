package dev.tidepool.runtime.order;

import java.util.function.BooleanSupplier;

/** Waiting on a monitor. */
public final class Monitors {
  private Monitors() {}

  /**
   * Waits on a monitor until a condition holds that the monitor guards, and that {@code notifyAll}
   * announces. Not interruptible: an interrupt stays set.
   */
  public static void awaitUninterruptibly(Object monitor, BooleanSupplier condition) {
    boolean interrupted = false;
    synchronized (monitor) {
      while (!condition.getAsBoolean()) {
        try {
          monitor.wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
