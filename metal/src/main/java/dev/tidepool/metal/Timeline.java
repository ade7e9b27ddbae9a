package dev.tidepool.metal;

import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.UseCount;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The shared event of one queue: it has the number of the last command that ended. Others wait for
 * a number; it is released when its queue is closed and nothing waits any more.
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
   * Says that a command has ended, which a command that failed does not. A signal of the device
   * between the two calls here is lost. A command that is awaited is watched, so this is called for
   * it too, and writes the number again: one call at a time.
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
