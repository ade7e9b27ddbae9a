package dev.tidepool.runtime;

/**
 * Who has a storage's copies just now: pieces of work that are under way, or one thread that moves
 * the bytes elsewhere because memory is short. Work that was asked for and has not begun has
 * nothing yet, so what it will use may be taken from under it; it brings the bytes back when it
 * begins.
 *
 * <p>Guarded by the storage's monitor. Work that begins waits while the bytes are being moved; who
 * moves them waits for no work, so neither waits for the other.
 */
final class Occupancy {
  private final Object monitor;
  private int users;
  private boolean moving;
  private boolean ended;

  /**
   * Nobody's yet.
   *
   * @param monitor the storage's
   */
  Occupancy(Object monitor) {
    this.monitor = monitor;
  }

  /** Work begins to use the copies. Not interruptible: an interrupt stays set. */
  void begin() {
    synchronized (monitor) {
      awaitMoved();
      users++;
    }
  }

  /** Waits until nobody moves the bytes. Not interruptible: an interrupt stays set. */
  void awaitMoved() {
    boolean interrupted = false;
    synchronized (monitor) {
      while (moving) {
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

  /** Work that began has ended. */
  void end() {
    synchronized (monitor) {
      users--;
    }
  }

  /** Whether work that begins now would have to wait. */
  boolean isMoving() {
    synchronized (monitor) {
      return moving;
    }
  }

  /** The memory is on its way back: from now on there is nothing to move. */
  void close() {
    synchronized (monitor) {
      ended = true;
    }
  }

  /** Moves the bytes if no work under way uses them; whether it came to that. */
  boolean moveIfUnused(Runnable move) {
    synchronized (monitor) {
      if (users > 0 || moving || ended) {
        return false;
      }
      moving = true;
    }
    try {
      move.run();
    } finally {
      synchronized (monitor) {
        moving = false;
        monitor.notifyAll();
      }
    }
    return true;
  }
}
