package dev.tidepool.metal;

import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * Signals for commands that failed. A command buffer with an error does not signal its shared
 * event, and a queue that waits for it would wait for ever.
 *
 * <p>A command is watched from the moment when another queue is to wait for it. One thread waits
 * for the watched commands, in that order. None of them can wait for a later one: what a command
 * waits for was watched before that command was submitted.
 */
final class FailureWatch implements AutoCloseable {
  private final String name;
  // An empty one ends the thread.
  private final LinkedBlockingQueue<Optional<MetalEvent.Watched>> watched =
      new LinkedBlockingQueue<>();
  private @Nullable Thread thread;
  private boolean closed;

  FailureWatch(String name) {
    this.name = name;
  }

  /** Signals for a command when it has ended without doing so. */
  synchronized void add(MetalEvent.Watched command) {
    if (closed) {
      throw new IllegalStateException(name + " is used after its close");
    }
    if (thread == null) {
      thread = Thread.ofPlatform().daemon().name("tidepool-" + name + "-watch").start(this::watch);
    }
    watched.add(Optional.of(command));
  }

  private void watch() {
    while (true) {
      Optional<MetalEvent.Watched> next = Uninterruptibly.get(watched::take);
      if (next.isEmpty() || Shutdown.hasBegun()) {
        return;
      }
      Closing.surviving("a wait for a command", next.get()::settle);
    }
  }

  /** Ends when all that is watched has ended. */
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
