package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.Resumable;
import dev.tidepool.spi.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The launches that are under way on one queue of a device, and the operations that wait for a
 * place among them.
 *
 * <p>The number under way is bounded: a launch that is not submitted can still be cancelled, and
 * drivers block the thread that submits to a full queue. While launches are under way, one thread
 * waits for the ends, in the order of submission. If many come fast, it waits for several at once,
 * as network drivers moderate interrupts: waking it takes longer than a small kernel. Thread-safe.
 * Under the monitor, only an operation is called, to give its turn up.
 */
final class LaunchQueue extends Resumable implements Runnable {
  /**
   * The maximum number of launches under way. A thread that submits one in 5 µs can continue while
   * the thread that waits for the ends is not scheduled, for a time slice of 2 to 3 ms. Drivers
   * accept more without blocking.
   */
  static final int PLACES = 512;

  /** Waiting operations get places when no more than this are taken, so that they run in groups. */
  private static final int LOW = PLACES * 3 / 4;

  /** A command is fast if it ends within this time after the one before it. */
  private static final long FAST_NANOS = 20_000;

  /** After this many fast ends in a row, the thread waits for several at once, for a pause. */
  private static final int STREAM = 64;

  static final long PAUSE_NANOS = 50_000;

  /** A slow end cancels this many fast ones. Not all, because a busy processor delays some. */
  private static final int SLOW = 8;

  /** If fewer commands end in one pause, they are too slow to wait for several at once. */
  private static final int STREAM_ENDS = 4;

  private final Queue queue;
  private final Executor threads;
  private final long pauseNanos;

  // The thread that waits for the ends, while it pauses.
  private volatile @Nullable Thread pausing;
  // The launch that the host waits for, if any: no pause until it has ended.
  private final AtomicReference<@Nullable DeviceLaunch> wanted = new AtomicReference<>();

  // Used only by the thread that waits for the ends.
  private long lastNanos;
  private int fastEnds;
  private @Nullable DeviceLaunch untold;

  // All guarded by this.
  private int taken;
  // Both lists are linked through the launches, so that adding allocates nothing.
  private @Nullable DeviceLaunch firstWaiting;
  private @Nullable DeviceLaunch lastWaiting;
  private @Nullable DeviceLaunch first;
  private @Nullable DeviceLaunch last;
  private boolean awaited;

  /**
   * Creates a queue with no launch under way.
   *
   * @param threads platform threads, which may block in the driver
   * @param pauseNanos the pause of the thread that waits for the ends, if many come fast
   */
  LaunchQueue(Queue queue, Executor threads, long pauseNanos) {
    this.queue = queue;
    this.threads = threads;
    this.pauseNanos = pauseNanos;
  }

  Queue queue() {
    return queue;
  }

  /** Returns whether all submitted launches have ended on the device. */
  boolean isIdle() {
    DeviceLaunch newest;
    synchronized (this) {
      newest = last;
      if (newest == null) {
        return taken == 0;
      }
    }
    return newest.isOver();
  }

  /** Takes a place, or lists the launch until one is free. */
  synchronized boolean takePlace(DeviceLaunch launch) {
    if (launch.hasPlace || tryPlace(launch)) {
      return true;
    }
    if (!launch.isListed) {
      launch.isListed = true;
      if (lastWaiting == null) {
        firstWaiting = launch;
      } else {
        lastWaiting.next = launch;
      }
      lastWaiting = launch;
    }
    launch.operation().giveTurnUp();
    return false;
  }

  /** Takes a place if one is free and no other launch waits. */
  synchronized boolean tryPlace(DeviceLaunch launch) {
    if (taken == PLACES || firstWaiting != null) {
      return false;
    }
    taken++;
    launch.hasPlace = true;
    return true;
  }

  /** Gives the place back, if the launch has one. Waiting operations get places in groups. */
  void leavePlace(DeviceLaunch launch) {
    synchronized (this) {
      if (!launch.hasPlace) {
        return;
      }
      launch.hasPlace = false;
      taken--;
      if (taken > LOW) {
        return;
      }
    }
    for (DeviceLaunch next = nextWaiting(); next != null; next = nextWaiting()) {
      next.operation().handIn();
    }
  }

  /** Gives a place to the launch that waited longest; null if none waits or no place is free. */
  private synchronized @Nullable DeviceLaunch nextWaiting() {
    for (DeviceLaunch launch = firstWaiting;
        launch != null && taken < PLACES;
        launch = firstWaiting) {
      firstWaiting = launch.next;
      if (firstWaiting == null) {
        lastWaiting = null;
      }
      launch.next = null;
      launch.isListed = false;
      // An operation that was handed in twice may have ended while it was listed.
      if (!launch.isEnded()) {
        launch.hasPlace = true;
        taken++;
        return launch;
      }
    }
    return null;
  }

  /** Adds a launch that was submitted. A thread waits for its end from now on. */
  void add(DeviceLaunch launch) {
    synchronized (this) {
      if (last == null) {
        first = launch;
      } else {
        last.next = launch;
      }
      last = launch;
      if (awaited) {
        return;
      }
      awaited = true;
    }
    resume();
  }

  /** Starts the thread that waits for the ends, at once or a little later. */
  @Override
  public void resume() {
    try {
      threads.execute(this);
    } catch (Throwable e) {
      leaveUnfinished();
    }
  }

  /** Waits for the ends of all launches that are under way. */
  @Override
  public void run() {
    try {
      awaitAll();
    } catch (Throwable e) {
      // Another thread continues: the ends of the launches must be waited for.
      leaveUnfinished();
      throw e;
    }
  }

  /**
   * Notes that the host waits for a launch. Until it has ended, or nothing is under way, ends are
   * reported without a pause.
   */
  void hurry(DeviceLaunch launch) {
    wanted.set(launch);
    Thread waiting = pausing;
    if (waiting != null) {
      LockSupport.unpark(waiting);
    }
  }

  private void pause() {
    pausing = Thread.currentThread();
    if (wanted.get() == null) {
      LockSupport.parkNanos(pauseNanos);
    }
    pausing = null;
  }

  private void awaitAll() {
    tellAll();
    while (true) {
      boolean isStream = fastEnds >= STREAM && wanted.get() == null;
      if (isStream) {
        pause();
      }
      DeviceLaunch oldest = oldest(isStream);
      if (oldest != null) {
        count(awaitGroup(oldest), isStream);
      } else if (!isStream) {
        return;
      } else {
        fastEnds = 0;
      }
    }
  }

  /**
   * Waits for the oldest launch, then ends its operation and those of launches that have ended too.
   *
   * @return the number of operations
   */
  private int awaitGroup(DeviceLaunch oldest) {
    int ends = 0;
    for (DeviceLaunch next = oldest; next != null; next = ends < PLACES ? nextEnded() : null) {
      Throwable failure = next.awaitEnd();
      remove(next);
      if (next.operation().deviceEnded(failure)) {
        next.next = untold;
        untold = next;
      }
      ends++;
    }
    tellAll();
    DeviceLaunch waitedFor = wanted.get();
    if (waitedFor != null && waitedFor.isEnded()) {
      wanted.compareAndSet(waitedFor, null);
    }
    return ends;
  }

  /** Counts the fast ends. A stream continues while enough commands end in one pause. */
  private void count(int ends, boolean isStream) {
    long now = System.nanoTime();
    boolean isFast = isStream ? ends >= STREAM_ENDS : now - lastNanos < ends * FAST_NANOS;
    lastNanos = now;
    if (isFast) {
      fastEnds = Math.min(fastEnds + ends, STREAM);
    } else {
      fastEnds = isStream ? 0 : Math.max(0, fastEnds - SLOW);
    }
  }

  /** Calls the listeners of operations that have ended, together: that wakes one thread for all. */
  private void tellAll() {
    for (DeviceLaunch launch = untold; launch != null; launch = untold) {
      untold = launch.next;
      launch.next = null;
      launch.operation().tellOfEnd();
    }
  }

  /**
   * Returns the oldest launch under way. If there is none, this thread stops waiting, unless it
   * {@code stays}.
   */
  private synchronized @Nullable DeviceLaunch oldest(boolean stays) {
    awaited = stays || first != null;
    if (first == null) {
      wanted.set(null);
    }
    return first;
  }

  /** Returns the oldest launch if it has ended. Calls the driver without the monitor. */
  private @Nullable DeviceLaunch nextEnded() {
    DeviceLaunch oldest;
    synchronized (this) {
      oldest = first;
    }
    return oldest != null && oldest.hasEnded() ? oldest : null;
  }

  /** Removes the oldest launch from the list. */
  private synchronized void remove(DeviceLaunch oldest) {
    first = oldest.next;
    oldest.next = null;
    if (first == null) {
      last = null;
    }
  }
}
