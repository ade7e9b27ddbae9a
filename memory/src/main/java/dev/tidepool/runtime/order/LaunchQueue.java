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
 * <p>A bounded number is under way: what is not submitted can still be cancelled, and drivers block
 * the thread that submits to a full queue. One thread waits for the ends, in the order of
 * submission, as long as there are any. Where many come fast, it waits for several at once, as
 * network drivers moderate interrupts: waking it takes longer than a small kernel. Thread-safe.
 * Nothing else is called under the monitor, except that an operation gives its turn up.
 */
final class LaunchQueue extends Resumable implements Runnable {
  /**
   * Launches that are under way at most: enough for a thread that submits them for 5 µs each to go
   * on while the thread that waits for the ends is not scheduled, for a time slice of 2 to 3 ms.
   * Fewer than drivers take without blocking.
   */
  static final int PLACES = 512;

  /** Operations wait until so few are under way, so that they come in groups and not one by one. */
  private static final int LOW = PLACES * 3 / 4;

  /** A command that ends so soon after the one before it is fast. */
  private static final long FAST_NANOS = 20_000;

  /** After so many fast ones in a row, several are waited for at once, for so long. */
  private static final int STREAM = 64;

  static final long PAUSE_NANOS = 50_000;

  /** A slow one counts like so many fast ones: a busy processor delays some. */
  private static final int SLOW = 8;

  /** Fewer ends in one pause are no stream: a thread that waits for each would wait longer. */
  private static final int STREAM_ENDS = 4;

  private final Queue queue;
  private final Executor threads;
  private final long pauseNanos;

  // The thread that waits, while it pauses.
  private volatile @Nullable Thread pausing;
  // The launch that the host waits for, if there is one: no pause until it has ended.
  private final AtomicReference<@Nullable DeviceLaunch> wanted = new AtomicReference<>();

  // Used only by the thread that waits.
  private long lastNanos;
  private int fastEnds;
  private @Nullable DeviceLaunch untold;

  // All guarded by this.
  private int taken;
  // Both lists are linked through the launches, so that they take no memory.
  private @Nullable DeviceLaunch firstWaiting;
  private @Nullable DeviceLaunch lastWaiting;
  private @Nullable DeviceLaunch first;
  private @Nullable DeviceLaunch last;
  private boolean awaited;

  /**
   * Nothing is under way.
   *
   * @param threads platform threads, which may block in the driver
   * @param pauseNanos how long the thread that waits pauses for more ends, where many come fast
   */
  LaunchQueue(Queue queue, Executor threads, long pauseNanos) {
    this.queue = queue;
    this.threads = threads;
    this.pauseNanos = pauseNanos;
  }

  Queue queue() {
    return queue;
  }

  /** Returns whether everything that was submitted has ended on the device. */
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

  /** Takes a place, or lists the launch until there is one. */
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

  /** Takes a place if there is one that no other launch waits for. */
  synchronized boolean tryPlace(DeviceLaunch launch) {
    if (taken == PLACES || firstWaiting != null) {
      return false;
    }
    taken++;
    launch.hasPlace = true;
    return true;
  }

  /** Gives a place back, if the launch has one. Operations that wait get theirs in groups. */
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

  /** Gives the launch that waited longest a place; null if none waits, or there is none. */
  private synchronized @Nullable DeviceLaunch nextWaiting() {
    DeviceLaunch launch = firstWaiting;
    if (launch == null || taken == PLACES) {
      return null;
    }
    firstWaiting = launch.next;
    if (firstWaiting == null) {
      lastWaiting = null;
    }
    launch.next = null;
    launch.isListed = false;
    launch.hasPlace = true;
    taken++;
    return launch;
  }

  /** A launch was submitted: its end is waited for from now on. */
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

  /** Starts a thread that waits for what is under way, at once or a little later. */
  @Override
  public void resume() {
    try {
      threads.execute(this);
    } catch (Throwable e) {
      leaveUnfinished();
    }
  }

  /** Waits for the ends of all that is under way. */
  @Override
  public void run() {
    try {
      awaitAll();
    } catch (Throwable e) {
      // Another thread goes on: what is under way must be waited for.
      leaveUnfinished();
      throw e;
    }
  }

  /**
   * The host waits for a launch: until that has ended, or nothing is under way, ends are told
   * without a pause.
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
   * Waits for the oldest launch, and ends its operation and those of the ones that ended too.
   *
   * @return how many
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

  /** Counts the fast ends. A stream goes on as long as enough end in one pause. */
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

  /** Tells the listeners of operations that have ended, together: one thread is woken for them. */
  private void tellAll() {
    for (DeviceLaunch launch = untold; launch != null; launch = untold) {
      untold = launch.next;
      launch.next = null;
      launch.operation().tellOfEnd();
    }
  }

  /**
   * Returns the oldest launch under way; if there is none, this thread waits no longer, unless it
   * {@code stays}.
   */
  private synchronized @Nullable DeviceLaunch oldest(boolean stays) {
    awaited = stays || first != null;
    if (first == null) {
      wanted.set(null);
    }
    return first;
  }

  /** Returns the oldest launch under way if it has ended. The driver is asked under no monitor. */
  private @Nullable DeviceLaunch nextEnded() {
    DeviceLaunch oldest;
    synchronized (this) {
      oldest = first;
    }
    return oldest != null && oldest.hasEnded() ? oldest : null;
  }

  /** Takes the oldest launch off the list. */
  private synchronized void remove(DeviceLaunch oldest) {
    first = oldest.next;
    oldest.next = null;
    if (first == null) {
      last = null;
    }
  }
}
