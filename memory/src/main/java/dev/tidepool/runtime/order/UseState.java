package dev.tidepool.runtime.order;

import dev.tidepool.spi.support.Uninterruptibly;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The current users of a storage's copies: operations under way, or one thread that moves the bytes
 * elsewhere because memory is short. An operation that has not begun uses nothing yet, so the bytes
 * that it will need may be moved; it brings them back when it begins.
 *
 * <p>Guarded by the storage's monitor. An operation that begins waits while the bytes are being
 * moved. The thread that moves them waits for no operation, so the two never wait for each other.
 */
public final class UseState extends InPlaceAccess {
  private final Object monitor;
  private int users;
  // Linked through the accesses.
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

  /** Begins the use of the copies by an operation, unless it has begun. An interrupt stays set. */
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

  /** Ends the use of the copies by an operation. Returns whether it used them. */
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
    /** An operation, a move of the bytes, or the release of the memory continues and will end. */
    GOING_ON
  }

  /**
   * Returns the kind of users that use, move or release the copies now. An operation of the calling
   * thread does not count while {@link MemoryWaiters} has the thread as blocked.
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

  /** Returns the operations that use the copies now and do not wait for memory. */
  public List<OrderedOperation> goingOn() {
    List<OrderedOperation> operations = new ArrayList<>();
    synchronized (monitor) {
      for (ResourceAccess use = firstUser; use != null; use = use.userAfter) {
        OrderedOperation operation = use.operation;
        Thread runner = operation == null ? null : operation.runner();
        if (operation != null && (runner == null || !MemoryWaiters.isBlocked(runner))) {
          operations.add(operation);
        }
      }
    }
    return operations;
  }

  /** Returns whether a thread moves the bytes elsewhere or releases their memory. */
  public boolean isLeaving() {
    synchronized (monitor) {
      boolean leaves = moving || (ended && !freed);
      for (ResourceAccess use = firstUser; use != null && !leaves; use = use.userAfter) {
        leaves = use.purpose() == ResourceAccess.Purpose.MOVE;
      }
      return leaves;
    }
  }

  /** Returns whether the copies are lent to native code. */
  public boolean isLent() {
    synchronized (monitor) {
      boolean lent = false;
      for (ResourceAccess use = firstUser; use != null && !lent; use = use.userAfter) {
        lent = use.operation != null && use.operation.isLent();
      }
      return lent;
    }
  }

  /** Waits until no thread moves the bytes. An interrupt stays set. */
  public void awaitMoved() {
    synchronized (monitor) {
      if (moving) {
        Uninterruptibly.await(monitor, () -> !moving);
      }
    }
  }

  /** Returns whether nothing uses, moves or releases the copies. The caller holds the monitor. */
  public boolean isFree() {
    return users == 0 && !moving && !ended;
  }

  /** Returns whether an operation that begins now would have to wait. */
  public boolean isMoving() {
    synchronized (monitor) {
      return moving;
    }
  }

  /** Forbids moves of the bytes from now on: their memory is about to be released. */
  public void close() {
    synchronized (monitor) {
      stop();
      ended = true;
    }
  }

  /** Notes that the memory was released after {@link #close}. */
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
