package dev.tidepool.runtime.order;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Tells those who wait for memory of one device whether waiting can help: which threads wait in the
 * middle of their work, and how often work let go of what it used. As long as work that has what a
 * request could use goes on, it will end, and what it used is idle then. When all who have it wait
 * too, waiting is in vain.
 *
 * <p>One for each device of a session, so that nobody waits for what another Tidepool does.
 */
public final class Headway {
  // A thread waits in one place at a time.
  private static final Set<Thread> WAITING = ConcurrentHashMap.newKeySet();

  private final LongAdder releases = new LongAdder();
  // For when the adder needs memory that there is not.
  private final AtomicLong furtherReleases = new AtomicLong();

  /** The calling thread waits in the middle of work from now on; {@link #waited} follows. */
  public static void waits() {
    WAITING.add(Thread.currentThread());
  }

  public static void waited() {
    WAITING.remove(Thread.currentThread());
  }

  /** Whether a thread waits for memory, or for its turn to get it. */
  public static boolean waits(Thread thread) {
    return WAITING.contains(thread);
  }

  /** Work has let go of a storage of the device, because it has ended or is about to wait. */
  void released() {
    try {
      releases.increment();
    } catch (OutOfMemoryError e) {
      furtherReleases.incrementAndGet();
    }
  }

  /**
   * How often work let go of a storage. A thread that finds something in use, and then neither that
   * work goes on nor that this has grown, looked at all that there is.
   */
  public long releases() {
    return releases.sum() + furtherReleases.get();
  }
}
