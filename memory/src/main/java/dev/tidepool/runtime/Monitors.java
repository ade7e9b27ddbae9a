package dev.tidepool.runtime;

import java.util.function.BooleanSupplier;

/** Waiting on a monitor. */
final class Monitors {
  private Monitors() {}

  /**
   * Waits on a monitor until a condition holds that the monitor guards, and that {@code notifyAll}
   * announces. Not interruptible: an interrupt stays set.
   */
  static void awaitUninterruptibly(Object monitor, BooleanSupplier condition) {
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
