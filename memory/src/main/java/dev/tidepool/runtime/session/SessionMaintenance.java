package dev.tidepool.runtime.session;

import dev.tidepool.host.HostMemory;
import dev.tidepool.runtime.context.CoarseClock;
import dev.tidepool.runtime.metering.AllocationTrace;
import dev.tidepool.runtime.supply.LowMemory;
import dev.tidepool.runtime.supply.SessionResources;
import dev.tidepool.runtime.threads.Resumable;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.Uninterruptibly;
import java.lang.ref.WeakReference;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread that maintains a session's managers. It finds unreachable buffers, trims pools at
 * intervals and when memory is short, and writes the trace. It holds the session weakly. If a
 * session becomes unreachable without being closed, the thread closes the session's resources and
 * ends.
 */
final class SessionMaintenance implements AutoCloseable {
  // Limited, because a listener that the thread is calling may wait for the closing thread.
  private static final long ENDING_MILLIS = 10_000;

  private final WeakReference<RuntimeSession> session;
  private final SessionResources resources;
  private final CoarseClock clock;
  private final Thread thread;
  private volatile boolean closed;

  /**
   * Creates the maintenance of a session, but does not start the thread.
   *
   * @param resources of the session; they must not refer to it
   */
  SessionMaintenance(RuntimeSession session, SessionResources resources, CoarseClock clock) {
    this.resources = resources;
    this.clock = clock;
    this.session = new WeakReference<>(session);
    this.thread = Thread.ofPlatform().daemon().name("tidepool-maintenance").unstarted(this::run);
  }

  /** Starts the thread. The constructor does not, because the session is not complete then. */
  void start() {
    thread.start();
  }

  private void run() {
    boolean ends = false;
    while (!closed && !ends) {
      LockSupport.parkNanos(CoarseClock.NANOS);
      // A log handler may interrupt this thread. A set interrupt would prevent parking.
      Thread.interrupted();
      clock.advance();
      Resumable.resumeAll();
      try {
        ends = !lookAfterSession() && closeForgotten();
      } catch (Throwable e) {
        // The heap has no room even for the text of a warning. The next round tries again.
      }
    }
  }

  /**
   * Returns whether the session still exists. This is a separate method so that no frame of the
   * sleeping thread refers to the session.
   */
  private boolean lookAfterSession() {
    RuntimeSession current = session.get();
    if (current == null) {
      return false;
    }
    try {
      lookAfter(current);
    } catch (RuntimeException | Error e) {
      warn(e);
    }
    return true;
  }

  /** Closes an unreachable session. Returns false if the heap was full; a retry may succeed. */
  private boolean closeForgotten() {
    try {
      resources.closeForgotten();
      return true;
    } catch (VirtualMachineError e) {
      return false;
    } catch (RuntimeException | Error e) {
      warn(e);
      return true;
    }
  }

  private static void lookAfter(RuntimeSession session) {
    session.workers().futureCompleter().check();
    boolean hostIsShort = LowMemory.in(HostMemory.now());
    for (DeviceMemoryManager manager : session.managers()) {
      try {
        manager.maintain(hostIsShort);
      } catch (RuntimeException | Error e) {
        // The others must be maintained: no other thread trims pools or finds leaks.
        warn(e);
      }
    }
    AllocationTrace trace = session.trace();
    if (trace != null) {
      trace.write();
    }
  }

  private static void warn(Throwable failure) {
    FailureLog.warn("maintenance failed; it goes on", failure);
  }

  /**
   * Ends the thread and waits for its current work, because it must return its blocks before their
   * device is closed.
   */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    // This thread itself may end a session.
    if (!Thread.currentThread().equals(thread)) {
      Uninterruptibly.await(() -> thread.join(ENDING_MILLIS));
    }
  }
}
