package dev.tidepool.runtime.storage;

import java.util.concurrent.locks.ReentrantLock;

/**
 * The lock of one storage under which its bytes move, and its copies are added and removed. {@link
 * Coherence} owns it. A {@code try} statement unlocks it.
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
