package dev.tidepool.metal;

import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.Uninterruptibly;
import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Signals the end of commands that failed. A command buffer with an error does not signal its
 * shared event, and a queue that waits for the event would wait forever.
 *
 * <p>A command is watched from the moment when another queue is to wait for it. One thread waits
 * for the watched commands, in that order. None of them can wait for a later one: the commands for
 * which a command waits were watched before that command was submitted.
 */
final class FailureWatch implements AutoCloseable {
  private static final long RETRY_NANOS = 1_000_000;

  /** A command for which another queue waits. */
  interface Command extends AutoCloseable {
    /** Waits for the command's end, and signals it if the command did not. May be called again. */
    void signalEnd();

    /** Ends the watch of the command. */
    @Override
    void close();
  }

  private final String name;
  private final ThreadFactory threads;
  // An empty entry ends the thread.
  private final LinkedBlockingQueue<Optional<Command>> watched = new LinkedBlockingQueue<>();
  private @Nullable Thread thread;
  private boolean closed;

  FailureWatch(String name) {
    this(name, Thread.ofPlatform().daemon().name("tidepool-" + name + "-watch").factory());
  }

  FailureWatch(String name, ThreadFactory threads) {
    this.name = name;
    this.threads = threads;
  }

  /**
   * Watches a command, and signals its end if the command has ended without doing so. If this
   * throws, the command is not watched.
   */
  synchronized void add(Command command) {
    if (closed) {
      throw new IllegalStateException(name + " is used after its close");
    }
    if (thread == null) {
      Thread starting = threads.newThread(this::watch);
      starting.start();
      thread = starting;
    }
    watched.add(Optional.of(command));
  }

  private void watch() {
    Uninterruptibly.Wait<Optional<Command>, RuntimeException> take = watched::take;
    while (true) {
      Optional<Command> next = Uninterruptibly.get(take);
      if (next.isEmpty() || Shutdown.hasBegun()) {
        return;
      }
      settle(next.get());
    }
  }

  private static void settle(Command command) {
    try (command) {
      signalEnd(command);
    } catch (RuntimeException | Error failed) {
      FailureLog.ofDriver(
          FailureWatch.class, Level.WARNING, "a wait for a command", " failed", failed);
    }
  }

  /**
   * Signals the end of a command. If the heap or the stack is exhausted, this tries again: without
   * the signal the other queue would wait forever.
   */
  private static void signalEnd(Command command) {
    while (true) {
      try {
        command.signalEnd();
        return;
      } catch (OutOfMemoryError | StackOverflowError e) {
        LockSupport.parkNanos(RETRY_NANOS);
      }
    }
  }

  /** Returns when all watched commands have ended. */
  @Override
  public void close() {
    Thread running;
    synchronized (this) {
      closed = true;
      running = thread;
      watched.add(Optional.empty());
    }
    if (running != null) {
      Uninterruptibly.await(running::join);
    }
  }
}
