package dev.tidepool.spi.support;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the users of a native object, so that an object that is closed during a use is released
 * after that use. The owner is the first user. Thread-safe.
 */
public final class UseCount {
  private final String what;
  private final AtomicInteger users = new AtomicInteger(1);

  /**
   * Creates a count of one.
   *
   * @param what the name of the object in the message about a late use
   */
  public UseCount(String what) {
    this.what = what;
  }

  /**
   * Begins a use, which {@link #leave} ends.
   *
   * @throws IllegalStateException if the last user has left
   */
  public void enter() {
    int now;
    do {
      now = users.get();
      if (now == 0) {
        throw new IllegalStateException(what + " is used after it was closed");
      }
    } while (!users.compareAndSet(now, now + 1));
  }

  /** Ends a use. Returns true if it was the last; the caller must then release the object. */
  public boolean leave() {
    return users.decrementAndGet() == 0;
  }
}
