package dev.tidepool.metal;

import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.UseCount;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The shared event of one queue. Its value is the number of the last command that has ended. Queues
 * wait for a number. The event is released when its queue is closed and nothing waits for it any
 * more.
 */
final class Timeline {
  private final long event;
  private final UseCount users = new UseCount("a shared event");
  private final AtomicBoolean closed = new AtomicBoolean();

  Timeline(long device) {
    this.event = Metal.newSharedEvent(device);
  }

  /** Returns the {@code id<MTLSharedEvent>}. */
  long event() {
    return event;
  }

  /** Begins a use, which {@link #leave} ends. */
  void enter() {
    users.enter();
  }

  void leave() {
    if (users.leave() && !Shutdown.hasBegun()) {
      NativeCall.release(ObjectKind.SHARED_EVENT, event);
    }
  }

  boolean hasReached(long number) {
    return Metal.signaledValue(event) >= number;
  }

  /**
   * Sets the number of a command that has ended, because a command that failed does not. If the
   * device signals between the two calls here, its signal is overwritten. But a command that is
   * awaited is watched, so this method is called for it, too, and sets its number again. Calls run
   * one at a time.
   */
  synchronized void reach(long number) {
    if (!hasReached(number)) {
      Metal.setSignaledValue(event, number);
    }
  }

  void close() {
    if (closed.compareAndSet(false, true)) {
      leave();
    }
  }
}
