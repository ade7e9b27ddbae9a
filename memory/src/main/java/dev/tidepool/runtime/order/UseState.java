package dev.tidepool.runtime.order;

import dev.tidepool.spi.support.Uninterruptibly;
import org.jspecify.annotations.Nullable;

/**
 * What uses a storage's copies now: operations under way, or one thread that moves the bytes
 * elsewhere because memory is short. An operation that has not begun uses nothing yet, so the bytes
 * that it will need may be moved; it brings them back when it begins.
 *
 * <p>Guarded by the storage's monitor. An operation that begins waits while the bytes are being
 * moved. The thread that moves them waits for no operation, so neither waits for the other.
 */
public final class UseState extends InPlaceAccess {
  private final Object monitor;
  private int users;
  // Linked.
  private @Nullable ResourceAccess firstUser;
  private boolean moving;
  private boolean ended;
  private boolean freed;

  /**
   * Creates the state of copies that nothing uses.
   *
   * @param monitor the storage's
   */
  UseState(Object monitor) {
    this.monitor = monitor;
  }

  /** An operation begins to use the copies, unless it has. An interrupt stays set. */
  public void begin(ResourceAccess use) {
    synchronized (monitor) {
      if (use.occupies) {
        return;
      }
      awaitMoved();
      users++;
      use.occupies = true;
      use.userAfter = firstUser;
      if (firstUser != null) {
        firstUser.userBefore = use;
      }
      firstUser = use;
    }
  }

  /** An operation uses the copies no longer. Returns whether it did. */
  boolean end(ResourceAccess use) {
    synchronized (monitor) {
      if (!use.occupies) {
        return false;
      }
      users--;
      use.occupies = false;
      if (use.userBefore == null) {
        firstUser = use.userAfter;
      } else {
        use.userBefore.userAfter = use.userAfter;
      }
      if (use.userAfter != null) {
        use.userAfter.userBefore = use.userBefore;
      }
      use.userBefore = null;
      use.userAfter = null;
      return true;
    }
  }

  /** The kinds of users that copies have. */
  public enum Users {
    NONE,
    /** All operations under way wait for memory, or for native code that the bytes are lent to. */
    WAITING,
    /** An operation, a move of the bytes, or the release of the memory goes on and will end. */
    GOING_ON
  }

  /**
   * Returns what uses or moves the copies now, or gives their memory back, except for the calling
   * thread's operation.
   */
  public Users others() {
    synchronized (monitor) {
      if (moving || (ended && !freed)) {
        return Users.GOING_ON;
      }
      boolean waits = false;
      for (ResourceAccess use = firstUser; use != null; use = use.userAfter) {
        OrderedOperation operation = use.operation;
        if (operation != null && operation.isLent()) {
          waits = true;
          continue;
        }
        Thread runner = operation == null ? null : operation.runner();
        if (runner == null || !MemoryWaiters.isBlocked(runner)) {
          return Users.GOING_ON;
        }
        waits |= !runner.equals(Thread.currentThread());
      }
      return waits ? Users.WAITING : Users.NONE;
    }
  }

  /** Returns whether a thread moves the bytes elsewhere, or gives their memory back. */
  public boolean isLeaving() {
    synchronized (monitor) {
      boolean leaves = moving || (ended && !freed);
      for (ResourceAccess use = firstUser; use != null && !leaves; use = use.userAfter) {
        leaves = use.purpose() == ResourceAccess.Purpose.MOVE;
      }
      return leaves;
    }
  }

  /** Returns whether native code has the copies. */
  public boolean isLent() {
    synchronized (monitor) {
      boolean lent = false;
      for (ResourceAccess use = firstUser; use != null && !lent; use = use.userAfter) {
        lent = use.operation != null && use.operation.isLent();
      }
      return lent;
    }
  }

  /** Waits until nothing moves the bytes. An interrupt stays set. */
  public void awaitMoved() {
    synchronized (monitor) {
      if (moving) {
        Uninterruptibly.await(monitor, () -> !moving);
      }
    }
  }

  /** Returns whether nothing uses or moves the copies; the monitor is held. */
  public boolean isFree() {
    return users == 0 && !moving && !ended;
  }

  /** Returns whether an operation that begins now would have to wait. */
  public boolean isMoving() {
    synchronized (monitor) {
      return moving;
    }
  }

  /** The memory is about to be given back: from now on nothing moves the bytes. */
  public void close() {
    synchronized (monitor) {
      stop();
      ended = true;
    }
  }

  /** The memory was given back after {@link #close}. */
  public void freed() {
    synchronized (monitor) {
      freed = true;
    }
  }

  /** Moves the bytes if no operation under way uses them. Returns whether it did. */
  public boolean moveIfUnused(Runnable move) {
    synchronized (monitor) {
      if (users > 0 || moving || ended) {
        return false;
      }
      stop();
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
