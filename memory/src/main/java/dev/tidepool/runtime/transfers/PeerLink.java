package dev.tidepool.runtime.transfers;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.transfer.PeerAccess;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The link by which one device copies from another. Records whether copies may use it, whether it
 * is open, and how many copies used it.
 *
 * <p><b>Locking.</b> The monitor guards the state and is held only briefly. {@code changing} admits
 * one thread at a time to ask the drivers to open or close the link. A copy takes it only to open
 * the link, or, as the last copy, to close a disabled link.
 */
final class PeerLink {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  private final DeviceAccelerator source;
  private final DeviceAccelerator destination;
  private final Device from;
  private final Device to;
  private final ReentrantLock changing = new ReentrantLock();

  // Guarded by this.
  private boolean permitted;
  private boolean open;
  private boolean refused;
  private int copying;

  private final LongAdder copies = new LongAdder();
  private final LongAdder bytes = new LongAdder();
  private final LongAdder nanos = new LongAdder();
  private final LongAdder stagedCopies = new LongAdder();
  private final LongAdder stagedBytes = new LongAdder();

  PeerLink(DeviceAccelerator source, DeviceAccelerator destination, boolean permitted) {
    this.source = source;
    this.destination = destination;
    this.from = source.device();
    this.to = destination.device();
    this.permitted = permitted;
  }

  /** Returns whether the driver copies between these devices, directly or not. */
  boolean carries() {
    synchronized (this) {
      if (!permitted || refused) {
        return false;
      }
    }
    return to.copiesFrom(from);
  }

  /**
   * Runs a copy on this link and returns true, or returns false if the link cannot be used. The
   * first copy opens the link.
   *
   * @throws RuntimeException the failure of the copy
   */
  boolean carry(long byteCount, Runnable copy) {
    if (!carries() || !enter()) {
      return false;
    }
    try {
      long start = System.nanoTime();
      copy.run();
      nanos.add(System.nanoTime() - start);
      bytes.add(byteCount);
      copies.increment();
    } finally {
      leave();
    }
    return true;
  }

  /** Counts a copy that went through the host. */
  void staged(long byteCount) {
    stagedBytes.add(byteCount);
    stagedCopies.increment();
  }

  private boolean enter() {
    if (tryEnter()) {
      return true;
    }
    openForFirst();
    return tryEnter();
  }

  private synchronized boolean tryEnter() {
    boolean enters = permitted && open;
    copying += enters ? 1 : 0;
    return enters;
  }

  private void leave() {
    boolean abandoned;
    synchronized (this) {
      copying--;
      abandoned = open && !permitted && copying == 0;
    }
    if (abandoned) {
      try {
        closeIfUnused();
      } catch (AcceleratorException e) {
        FailureLog.debug(this + " could not be closed; no copy takes it", e);
      }
    }
  }

  private void openForFirst() {
    changing.lock();
    try {
      boolean opens;
      synchronized (this) {
        opens = permitted && !open && !refused;
      }
      if (opens) {
        open(false);
      }
    } catch (AcceleratorException e) {
      // For example, the device may have too many peers.
      LOG.log(Level.INFO, this + " is refused by the driver; copies go through the host", e);
      synchronized (this) {
        refused = true;
      }
    } finally {
      changing.unlock();
    }
  }

  /**
   * Opens the link. The caller holds {@code changing}.
   *
   * @param permits whether to permit a link again that a user disabled
   */
  private void open(boolean permits) {
    if (to.copiesDirectlyFrom(from)) {
      to.enablePeer(from);
    }
    synchronized (this) {
      open = true;
      permitted |= permits;
      refused = false;
    }
  }

  /** Opens the link for a user, and permits it again. */
  void enable() {
    if (!to.copiesDirectlyFrom(from)) {
      throw new UnsupportedOperationException(
          destination
              + " does not reach the memory of "
              + source
              + "; copies between them go through the host");
    }
    changing.lock();
    try {
      boolean closed;
      synchronized (this) {
        closed = !open;
        permitted |= open;
      }
      if (closed) {
        open(true);
      }
    } finally {
      changing.unlock();
    }
  }

  /** Admits no more copies. Has no effect if the link cannot be enabled. */
  void disable() {
    if (!to.copiesDirectlyFrom(from)) {
      return;
    }
    synchronized (this) {
      permitted = false;
    }
    closeIfUnused();
  }

  private void closeIfUnused() {
    changing.lock();
    try {
      boolean closes;
      synchronized (this) {
        closes = open && !permitted && copying == 0;
        open &= !closes;
      }
      if (closes && to.copiesDirectlyFrom(from)) {
        to.disablePeer(from);
      }
    } finally {
      changing.unlock();
    }
  }

  /** Returns the link as users see it. */
  PeerAccess.Way way() {
    return new PeerAccess.Way(
        source,
        destination,
        state(),
        copies.sum(),
        bytes.sum(),
        Duration.ofNanos(nanos.sum()),
        stagedCopies.sum(),
        stagedBytes.sum());
  }

  private PeerAccess.State state() {
    if (!to.copiesDirectlyFrom(from)) {
      return PeerAccess.State.UNREACHABLE;
    }
    synchronized (this) {
      if (!permitted) {
        return PeerAccess.State.DISABLED;
      }
      if (open) {
        return PeerAccess.State.ENABLED;
      }
      return refused ? PeerAccess.State.REFUSED : PeerAccess.State.ON_FIRST_USE;
    }
  }

  @Override
  public String toString() {
    return "the way from " + source + " to " + destination;
  }
}
