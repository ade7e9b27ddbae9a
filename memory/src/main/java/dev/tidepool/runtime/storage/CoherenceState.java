package dev.tidepool.runtime.storage;

import dev.tidepool.BufferState;
import java.util.List;

/**
 * Records which copy of a storage has the newest bytes, and in which ranges. Users see the states.
 * Moves no bytes.
 *
 * <p>At most one side is newer at a time, in the ranges {@code dirty}. If one block is both copies,
 * the states change in the same way, but no range has to be transferred.
 *
 * <p><b>Locking.</b> Guarded by the storage's monitor, which each method takes.
 */
public final class CoherenceState {
  private final Object monitor;
  private final long size;
  private final boolean shared;
  private final DirtyRanges dirty;
  private BufferState state;
  private volatile int revocations;
  // Writes on the device that were submitted and have not ended.
  private int unsettledWrites;

  /**
   * @param monitor the storage's
   * @param size how many bytes the storage has
   * @param shared whether one block is both copies
   * @param state the initial state
   */
  CoherenceState(Object monitor, long size, boolean shared, BufferState state) {
    this.monitor = monitor;
    this.size = size;
    this.shared = shared;
    this.dirty = new DirtyRanges(size);
    this.state = state;
  }

  BufferState get() {
    synchronized (monitor) {
      return state;
    }
  }

  /** Returns whether the host has all of the newest bytes. */
  boolean isHostNewest() {
    synchronized (monitor) {
      return state != BufferState.DEVICE_ONLY && state != BufferState.DEVICE_DIRTY;
    }
  }

  /** Returns whether the device has all of the newest bytes. */
  boolean isDeviceNewest() {
    synchronized (monitor) {
      return state != BufferState.HOST_ONLY && state != BufferState.HOST_DIRTY;
    }
  }

  /** Returns whether the host's bytes of a range are the newest. */
  public boolean hostHasNewest(long from, long to) {
    synchronized (monitor) {
      return switch (state) {
        case DEVICE_ONLY -> false;
        case DEVICE_DIRTY -> from < to && !shared && !dirty.intersects(from, to);
        default -> true;
      };
    }
  }

  /** Returns whether the device's bytes of a range are the newest. */
  public boolean deviceHasNewest(long from, long to) {
    synchronized (monitor) {
      return switch (state) {
        case HOST_ONLY -> false;
        case HOST_DIRTY -> from < to && !shared && !dirty.intersects(from, to);
        default -> true;
      };
    }
  }

  /** Returns whether the host may write any range without a change of state. */
  boolean isHostDirtyEverywhere() {
    synchronized (monitor) {
      return state == BufferState.HOST_DIRTY && dirty.isAll();
    }
  }

  /** Returns whether a copy of any range to the newest side changes no state. */
  boolean isWritableInPlace() {
    synchronized (monitor) {
      return switch (state) {
        case HOST_ONLY -> true;
        case HOST_DIRTY -> dirty.isAll();
        case DEVICE_ONLY -> shared;
        case DEVICE_DIRTY -> shared && dirty.isAll();
        case SYNCHRONIZED -> false;
      };
    }
  }

  /** Notes that the host has written a range, or may write it at any moment. */
  public void hostWritten(long from, long to) {
    synchronized (monitor) {
      if (state == BufferState.HOST_ONLY) {
        return;
      }
      if (state != BufferState.HOST_DIRTY) {
        dirty.clear();
        state = BufferState.HOST_DIRTY;
      }
      dirty.add(from, to);
    }
  }

  public void deviceWritten(long from, long to) {
    synchronized (monitor) {
      if (state == BufferState.DEVICE_ONLY) {
        return;
      }
      if (state != BufferState.DEVICE_DIRTY) {
        dirty.clear();
        state = BufferState.DEVICE_DIRTY;
      }
      dirty.add(from, to);
    }
  }

  /**
   * Notes that the device may have written a part of a range. The host's bytes are the newest then,
   * unless other bytes of the device are newer.
   */
  public void deviceWriteFailed(long from, long to) {
    synchronized (monitor) {
      boolean isOnlyCopy = state == BufferState.HOST_ONLY || state == BufferState.DEVICE_ONLY;
      if (shared || isOnlyCopy) {
        return;
      }
      if (state == BufferState.SYNCHRONIZED) {
        state = BufferState.HOST_DIRTY;
      }
      // If the device is newer, the copies may differ now in the range too; one must be the newest.
      dirty.add(from, to);
    }
  }

  /**
   * Notes that a write of a range was submitted to the device. Later operations on the device may
   * depend on it. {@link #deviceWriteSettled} follows.
   *
   * @param seen the {@link #revocations} before the bytes for the write were pushed
   * @return whether the host's bytes are the newest again if the write fails
   */
  public boolean deviceWillWrite(long from, long to, int seen) {
    synchronized (monitor) {
      unsettledWrites++;
      if (revocations != seen) {
        // An earlier launch has failed meanwhile, and this one fails with it.
        countHost(from, to);
        return false;
      }
      boolean hostIsValid = state == BufferState.SYNCHRONIZED || state == BufferState.HOST_DIRTY;
      deviceWritten(from, to);
      return hostIsValid && !shared;
    }
  }

  /**
   * Notes that a submitted write of a range has ended.
   *
   * @param revoked whether the write failed and the host's bytes were valid before it. They are the
   *     newest again: every later write on the device was queued behind this one, and fails with it
   */
  public void deviceWriteSettled(long from, long to, boolean revoked) {
    synchronized (monitor) {
      unsettledWrites--;
      if (revoked) {
        revocations++;
        countHost(from, to);
      }
    }
  }

  private void countHost(long from, long to) {
    if (state == BufferState.DEVICE_DIRTY || state == BufferState.SYNCHRONIZED) {
      state = BufferState.HOST_DIRTY;
    }
    dirty.add(from, to);
  }

  /** Returns whether a submitted write on the device has not ended. */
  boolean hasUnsettledWrites() {
    synchronized (monitor) {
      return unsettledWrites > 0;
    }
  }

  /** Returns how many submitted writes of the device were revoked. */
  public int revocations() {
    return revocations;
  }

  /** Notes that the host's copy was allocated: the device is newer in all of it. */
  void hostCopyMade() {
    secondCopyMade(BufferState.DEVICE_ONLY, BufferState.DEVICE_DIRTY);
  }

  /** Notes that the device's copy was allocated: the host is newer in all of it. */
  void deviceCopyMade() {
    secondCopyMade(BufferState.HOST_ONLY, BufferState.HOST_DIRTY);
  }

  private void secondCopyMade(BufferState alone, BufferState next) {
    synchronized (monitor) {
      if (state == alone) {
        state = next;
        dirty.clear();
        dirty.add(0, size);
      }
    }
  }

  /** Notes that the device's copy was freed. */
  void hostOnly() {
    synchronized (monitor) {
      state = BufferState.HOST_ONLY;
      dirty.clear();
    }
  }

  /** Notes that both copies are equal. */
  void allEqual() {
    synchronized (monitor) {
      dirty.clear();
      state = BufferState.SYNCHRONIZED;
    }
  }

  /** Notes that both copies are equal in some ranges. */
  void equal(List<DirtyRanges.Range> ranges) {
    synchronized (monitor) {
      ranges.forEach(range -> dirty.remove(range.from(), range.to()));
      if (dirty.isEmpty()) {
        state = BufferState.SYNCHRONIZED;
      }
    }
  }

  /** Returns the parts of a range in which one copy is newer. */
  List<DirtyRanges.Range> dirtyWithin(long from, long to) {
    synchronized (monitor) {
      return dirty.within(from, to);
    }
  }
}
