package dev.tidepool.link;

import dev.tidepool.transfer.TransferPriority;

/**
 * Who submits the next chunk in one direction of a link: a transfer waits between its chunks while
 * a more urgent one is on its way, so what is urgent is held up by chunks that are under way, never
 * by whole transfers.
 *
 * <p><b>Starvation</b> is excluded: who has let sixteen chunks of others pass goes on.
 *
 * <p><b>Locking.</b> The monitor guards the counts. A transfer enters when it has all that it needs
 * of the host, staging blocks included, so that nobody inside waits for somebody at the gate. Used
 * by platform threads.
 */
final class PriorityGate {
  private static final int PATIENCE = 16;

  // All guarded by this.
  private final int[] inside = new int[TransferPriority.values().length];
  private long passed;
  private int waiting;

  /**
   * Lets a transfer in that is one chunk, and waits until that may be submitted, which its passage
   * is still to hear. Not interruptible: an interrupt stays set.
   */
  Turn enterWithOneChunk(TransferContext passage) {
    synchronized (this) {
      Turn turn = enter(passage);
      pass(passage.priority());
      return turn;
    }
  }

  /** Lets a transfer in, which from now on goes before less urgent ones. */
  Turn enter(TransferContext passage) {
    synchronized (this) {
      inside[index(passage.priority())]++;
    }
    return new Turn(passage);
  }

  /** Whether a transfer is inside, as it seems. */
  synchronized boolean isBusy() {
    for (int transfers : inside) {
      if (transfers > 0) {
        return true;
      }
    }
    return false;
  }

  /** One transfer inside. Used by one thread. */
  final class Turn implements AutoCloseable {
    private final TransferContext passage;

    private Turn(TransferContext passage) {
      this.passage = passage;
    }

    /** Waits until the next chunk may be submitted. Not interruptible: an interrupt stays set. */
    void chunk(long bytes) {
      pass(passage.priority());
      passage.submitted().accept(bytes);
    }

    /** Ends the transfer. */
    @Override
    public void close() {
      synchronized (PriorityGate.this) {
        inside[index(passage.priority())]--;
        wakeWaiting();
      }
    }
  }

  private void pass(TransferPriority priority) {
    boolean interrupted = false;
    synchronized (this) {
      long first = passed;
      while (isMoreUrgentInside(priority) && passed - first < PATIENCE) {
        waiting++;
        try {
          wait();
        } catch (InterruptedException e) {
          interrupted = true;
        } finally {
          waiting--;
        }
      }
      passed++;
      wakeWaiting();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean isMoreUrgentInside(TransferPriority priority) {
    for (int other = index(priority) + 1; other < inside.length; other++) {
      if (inside[other] > 0) {
        return true;
      }
    }
    return false;
  }

  @SuppressWarnings("EnumOrdinal") // there is a count for each, in their order
  private static int index(TransferPriority priority) {
    return priority.ordinal();
  }

  /** The monitor is held. */
  private void wakeWaiting() {
    if (waiting > 0) {
      notifyAll();
    }
  }
}
