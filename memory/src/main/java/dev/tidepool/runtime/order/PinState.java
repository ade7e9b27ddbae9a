package dev.tidepool.runtime.order;

import org.jspecify.annotations.Nullable;

/**
 * Who has a storage's copies just now: pieces of work that are under way, or one thread that moves
 * the bytes elsewhere because memory is short. Work that was asked for and has not begun has
 * nothing yet, so what it will use may be taken from under it; it brings the bytes back when it
 * begins.
 *
 * <p>Guarded by the storage's monitor. Work that begins waits while the bytes are being moved; who
 * moves them waits for no work, so neither waits for the other.
 */
public final class PinState extends InPlaceAccess {
  private final Object monitor;
  private int users;
  // Linked. The last use of the buffer before is one of the users, too.
  private @Nullable ResourceAccess firstUser;
  private @Nullable PriorUse before;
  private boolean moving;
  private boolean ended;

  /**
   * Nobody's yet.
   *
   * @param monitor the storage's
   */
  PinState(Object monitor) {
    this.monitor = monitor;
  }

  /** The buffer before uses the block still. Not interruptible: an interrupt stays set. */
  public void begin(PriorUse last) {
    synchronized (monitor) {
      stop();
      awaitMoved();
      users++;
      before = last;
    }
  }

  /** Work begins to use the copies, unless it has. Not interruptible: an interrupt stays set. */
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

  /** Work uses the copies no longer, if it did. */
  void end(ResourceAccess use) {
    synchronized (monitor) {
      if (!use.occupies) {
        return;
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
    }
    ManagerContext context = use.storage().context();
    if (use.purpose() == ResourceAccess.Purpose.MOVE) {
      // The storage has no more to give than before, and requests would try it in turns.
      context.waiters().released(context.device());
    } else {
      context.waiters().released(use.storage());
    }
  }

  /** The kinds of users that copies have. */
  public enum Users {
    /** No work that is under way. */
    NONE,
    /** Only work that waits for memory itself. */
    WAITING,
    /** Work, or a move of the bytes, that goes on and will end. */
    GOING_ON
  }

  /** Returns what uses or moves the copies now, except for the work of the calling thread. */
  public Users others() {
    synchronized (monitor) {
      if (moving) {
        return Users.GOING_ON;
      }
      boolean waits = before != null;
      if (before != null && before.goesOn()) {
        return Users.GOING_ON;
      }
      for (ResourceAccess use = firstUser; use != null; use = use.userAfter) {
        Thread runner = use.work == null ? null : use.work.runner();
        if (runner == null || !MemoryWaiters.isStopped(runner)) {
          return Users.GOING_ON;
        }
        waits |= !runner.equals(Thread.currentThread());
      }
      return waits ? Users.WAITING : Users.NONE;
    }
  }

  /**
   * Like {@link #others}, for a thread that waits for the block. It first ends what the buffer
   * before does with the block, if that lacks only a thread: all threads of the executor may wait
   * like this one.
   */
  public Users othersOfWaiting() {
    Operation end;
    synchronized (monitor) {
      end = before == null ? null : before.dueEnd();
    }
    if (end != null) {
      SessionExecutors.offCarrier(end);
    }
    return others();
  }

  /** Waits until nobody moves the bytes. Not interruptible: an interrupt stays set. */
  public void awaitMoved() {
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

  /** The buffer before uses the block no longer. */
  public void endLastUse() {
    synchronized (monitor) {
      users--;
      before = null;
    }
  }

  /** Whether nothing uses the copies and nothing moves them; the monitor is held. */
  public boolean isFree() {
    return users == 0 && !moving && !ended;
  }

  /** Whether work that begins now would have to wait. */
  public boolean isMoving() {
    synchronized (monitor) {
      return moving;
    }
  }

  /** The memory is on its way back: from now on there is nothing to move. */
  public void close() {
    synchronized (monitor) {
      stop();
      ended = true;
    }
  }

  /** Moves the bytes if no work under way uses them; whether it came to that. */
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
