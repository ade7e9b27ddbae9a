package dev.tidepool.runtime.storage;

import dev.tidepool.BufferState;
import java.util.List;

/**
 * Which copy of a storage has the newest bytes, and in which ranges. This is the table of states
 * that users see, and it moves no bytes.
 *
 * <p>At most one side is newer at a time, in the ranges {@code dirty}. Where one block is both
 * copies, the states change alike and no range has to travel.
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
  // Launches that were submitted to write, and have not ended.
  private int unsettledWrites;

  /**
   * @param monitor the storage's
   * @param size how many bytes the storage has
   * @param shared whether one block is both copies
   * @param state the first one
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

  /** Returns whether a copy of any range, to the side that is newest, would change no state. */
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

  /** The host has written a range, or may do so at any moment. */
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
   * The device may have written a part of a range: the host's bytes count, where they are valid and
   * nothing else on the device is newer.
   */
  public void deviceWriteFailed(long from, long to) {
    synchronized (monitor) {
      boolean hostIsValid = state == BufferState.SYNCHRONIZED || state == BufferState.HOST_DIRTY;
      if (shared) {
        return;
      }
      if (hostIsValid) {
        state = BufferState.HOST_DIRTY;
        dirty.add(from, to);
      } else if (state == BufferState.DEVICE_DIRTY) {
        // The two may differ now where they did not; one of them must count.
        dirty.add(from, to);
      }
    }
  }

  /**
   * A launch that will write a range was submitted. What comes behind it on the device may build on
   * that. {@link #deviceWriteSettled} follows.
   *
   * @param seen the {@link #revocations} before the bytes for the launch were pushed
   * @return whether the host's bytes count again if the launch fails
   */
  public boolean deviceWillWrite(long from, long to, int seen) {
    synchronized (monitor) {
      unsettledWrites++;
      if (revocations != seen) {
        // A launch ahead has failed meanwhile, and this one fails with it.
        countHost(from, to);
        return false;
      }
      boolean hostIsValid = state == BufferState.SYNCHRONIZED || state == BufferState.HOST_DIRTY;
      deviceWritten(from, to);
      return hostIsValid && !shared;
    }
  }

  /**
   * A launch that was submitted to write a range has ended.
   *
   * @param revoked whether it failed and the host's bytes were valid before it. They are the valid
   *     ones then: every later write on the device was queued behind this launch, and fails with it
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

  /** Returns whether a launch that was submitted to write has not ended. */
  boolean hasUnsettledWrites() {
    synchronized (monitor) {
      return unsettledWrites > 0;
    }
  }

  /** Returns how often launches failed after others were submitted behind them. */
  public int revocations() {
    return revocations;
  }

  /** The host's copy was made: all of it is still the device's. */
  void hostCopyMade() {
    secondCopyMade(BufferState.DEVICE_ONLY, BufferState.DEVICE_DIRTY);
  }

  /** The device's copy was made: all of it is still the host's. */
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

  /** The device's copy was given up. */
  void hostOnly() {
    synchronized (monitor) {
      state = BufferState.HOST_ONLY;
      dirty.clear();
    }
  }

  /** Both sides have all bytes. */
  void allEqual() {
    synchronized (monitor) {
      dirty.clear();
      state = BufferState.SYNCHRONIZED;
    }
  }

  /** Both sides have the bytes of some ranges. */
  void equal(List<DirtyRanges.Range> ranges) {
    synchronized (monitor) {
      ranges.forEach(range -> dirty.remove(range.from(), range.to()));
      if (dirty.isEmpty()) {
        state = BufferState.SYNCHRONIZED;
      }
    }
  }

  /** Returns the parts of a range that differ between the two copies. */
  List<DirtyRanges.Range> dirtyWithin(long from, long to) {
    synchronized (monitor) {
      return dirty.within(from, to);
    }
  }
}
