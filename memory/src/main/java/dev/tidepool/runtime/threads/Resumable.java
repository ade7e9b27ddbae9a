package dev.tidepool.runtime.threads;

import org.jspecify.annotations.Nullable;

/**
 * A step that other threads wait for, and that a thread could not complete because the heap was
 * full or no thread could be started. It is put on a list. The {@code SessionMaintenance} threads
 * process the list four times a second and try again.
 *
 * <p>Adding to the list allocates no memory. Thread-safe.
 */
public abstract class Resumable {
  private static final Object LOCK = new Object();

  // Changed under the lock.
  private static volatile @Nullable Resumable first;
  private @Nullable Resumable next;
  private boolean listed;

  /** Completes the step. Called again if it throws. May be called when nothing is left to do. */
  public abstract void resume();

  /** Leaves the step to the maintenance threads. */
  public final void leaveUnfinished() {
    synchronized (LOCK) {
      if (!listed) {
        listed = true;
        next = first;
        first = this;
      }
    }
  }

  /** Tries once to complete all steps. Does not throw. */
  public static void resumeAll() {
    if (first == null) {
      return;
    }
    Resumable each;
    synchronized (LOCK) {
      each = first;
      first = null;
    }
    while (each != null) {
      Resumable following;
      synchronized (LOCK) {
        following = each.next;
        each.next = null;
        each.listed = false;
      }
      try {
        each.resume();
      } catch (Throwable e) {
        each.leaveUnfinished();
      }
      each = following;
    }
  }
}
