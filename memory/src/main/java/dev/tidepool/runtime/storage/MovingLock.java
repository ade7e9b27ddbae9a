package dev.tidepool.runtime.storage;

import java.util.concurrent.locks.ReentrantLock;

/**
 * The lock of one storage under which its bytes move, and its copies come and go. {@link Coherence}
 * owns it. A {@code try} statement gives it back.
 */
final class MovingLock extends ReentrantLock implements AutoCloseable {
  private static final long serialVersionUID = 1L;

  MovingLock locked() {
    lock();
    return this;
  }

  @Override
  public void close() {
    unlock();
  }
}
