package dev.tidepool.runtime.order;

import dev.tidepool.spi.support.Uninterruptibly;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a session that wait for memory in use elsewhere. Every release of memory and
 * every end of an operation on a storage notifies them. So they wait without polling and examine
 * only what was released.
 *
 * <p>A request {@linkplain #enter enters} first, then searches for memory, then {@linkplain
 * Waiter#await waits}. A thread that releases something reads {@link #waiting} after the release.
 * So either the search finds the released memory, or the thread sees the request. Both sides change
 * memory by atomic operations or under the monitor of a storage, so the release needs no further
 * fence.
 *
 * <p>There is one object for each session, not for each device: an operation over buffers of two
 * devices may hold memory of one while it waits for the other. Requests of different sessions are
 * independent.
 */
public final class MemoryWaiters {
  /** The maximum of storages that are reported to a request; with more, it searches all. */
  private static final int MOST_TOLD = 4096;

  // A thread waits in one place at a time.
  private static final Set<Thread> BLOCKED = ConcurrentHashMap.newKeySet();

  // Guarded by this.
  private final List<Waiter> waiters = new ArrayList<>();

  /** The number of requests; written under the monitor. */
  private volatile int waiting;

  /**
   * Registers a request of the calling thread that is about to wait. {@link Waiter#close} removes
   * it.
   *
   * @param device whose memory it needs
   */
  public Waiter enter(Object device) {
    Waiter waiter = new Waiter(device);
    synchronized (this) {
      waiters.add(waiter);
      waiting = waiters.size();
    }
    return waiter;
  }

  /** Notifies requests that an operation has stopped using a storage, which may be moved now. */
  public void released(Object device, Object storage) {
    if (waiting > 0) {
      tell(device, storage);
    }
  }

  /** Notifies requests that memory of a device was released, or that a move has ended. */
  public void released(Object device) {
    if (waiting > 0) {
      tell(device, null);
    }
  }

  private synchronized void tell(@Nullable Object device, @Nullable Object released) {
    // By index: an iterator is an object, and a release of memory must not allocate.
    for (int i = 0; i < waiters.size(); i++) {
      waiters.get(i).told(device, released);
    }
    notifyAll();
  }

  /** Marks the calling thread as waiting inside of an operation, until {@link #endBlocked}. */
  public void beginBlocked() {
    BLOCKED.add(Thread.currentThread());
    stopped();
  }

  /** Notifies requests that wait for an operation: it does not continue now. */
  void stopped() {
    if (waiting > 0) {
      tell(null, null);
    }
  }

  /** Ends the mark of {@link #beginBlocked}. */
  public void endBlocked() {
    BLOCKED.remove(Thread.currentThread());
  }

  /** Returns whether a thread waits for memory, or for its turn to get it. */
  public static boolean isBlocked(Thread thread) {
    return BLOCKED.contains(thread);
  }

  /** The changes since the last wait. */
  public static final class Changes {
    private final List<Object> released = new ArrayList<>();
    boolean any;
    private boolean anyFreed;
    private boolean missed;

    private boolean noted(Object storage) {
      if (released.size() == MOST_TOLD) {
        return false;
      }
      try {
        return released.add(storage);
      } catch (OutOfMemoryError e) {
        return false;
      }
    }

    /** Returns the storages of the device that operations have stopped using. */
    public List<Object> released() {
      return released;
    }

    /**
     * Returns whether an operation has stopped using memory of the device, or memory was released.
     */
    public boolean anyFreed() {
      return anyFreed;
    }

    /** Returns whether {@link #released} is incomplete. */
    public boolean missed() {
      return missed;
    }
  }

  /** One request; not thread-safe. */
  public final class Waiter implements AutoCloseable {
    private final Object device;
    private final Thread owner = Thread.currentThread();
    // Guarded by the monitor of the waiters.
    private Changes changes = new Changes();

    private Waiter(Object device) {
      this.device = device;
    }

    private void told(@Nullable Object freedOn, @Nullable Object released) {
      if (released == null && owner.equals(Thread.currentThread())) {
        return; // What the waiting thread does itself need not be reported to it.
      }
      changes.any = true;
      if (!device.equals(freedOn)) {
        return;
      }
      changes.anyFreed = true;
      changes.missed |= released != null && !changes.noted(released);
    }

    /**
     * Waits for a change, unless one has happened since the last wait, and returns the changes. An
     * interrupt stays set.
     *
     * @param nanos the longest wait; 0 or less for none
     */
    public Changes await(long nanos) {
      synchronized (MemoryWaiters.this) {
        var _ = Uninterruptibly.await(MemoryWaiters.this, nanos, () -> changes.any);
        Changes seen = changes;
        changes = new Changes();
        return seen;
      }
    }

    @Override
    public void close() {
      synchronized (MemoryWaiters.this) {
        waiters.remove(this);
        waiting = waiters.size();
      }
    }
  }
}
