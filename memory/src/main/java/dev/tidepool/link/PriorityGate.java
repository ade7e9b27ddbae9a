package dev.tidepool.link;

import dev.tidepool.spi.support.Uninterruptibly;
import dev.tidepool.transfer.TransferPriority;

/**
 * Decides which transfer submits the next chunk in one direction of a link. A transfer waits
 * between its chunks while a more urgent one is inside. So an urgent transfer waits for single
 * chunks of others, never for whole transfers.
 *
 * <p><b>Starvation</b> is excluded: a transfer continues after sixteen chunks of others.
 *
 * <p><b>Locking.</b> The monitor guards the counts. A transfer enters only after it has obtained
 * all resources of the host, including staging blocks. So no transfer inside waits for one that
 * waits at the gate. Used by platform threads.
 */
final class PriorityGate {
  private static final int MOST_OVERTAKEN = 16;

  // All guarded by this.
  private final int[] inside = new int[TransferPriority.values().length];
  private long passed;
  private int waiting;

  /** Runs a transfer of one chunk when it may be submitted. An interrupt stays set. */
  void passOneChunk(TransferContext context, long bytes, Runnable transfer) {
    try (Passage _ = enterWithOneChunk(context)) {
      context.submitted().accept(bytes);
      transfer.run();
    }
  }

  private Passage enterWithOneChunk(TransferContext context) {
    synchronized (this) {
      Passage passage = enter(context);
      try {
        pass(context.priority());
      } catch (RuntimeException | Error e) {
        passage.close();
        throw e;
      }
      return passage;
    }
  }

  /** Admits a transfer, which now has priority over less urgent ones. */
  Passage enter(TransferContext context) {
    // Created first, because a transfer that was counted without a passage would never leave.
    Passage passage = new Passage(context);
    synchronized (this) {
      inside[index(context.priority())]++;
    }
    return passage;
  }

  /** Returns whether a transfer is inside. */
  synchronized boolean isBusy() {
    for (int transfers : inside) {
      if (transfers > 0) {
        return true;
      }
    }
    return false;
  }

  /** One transfer inside, or one of its threads. Used by one thread. */
  final class Passage implements AutoCloseable {
    private final TransferContext context;

    private Passage(TransferContext context) {
      this.context = context;
    }

    /** Waits until the next chunk may be submitted. An interrupt stays set. */
    void chunk(long bytes) {
      pass(context.priority());
      context.submitted().accept(bytes);
    }

    /** Ends the transfer. */
    @Override
    public void close() {
      synchronized (PriorityGate.this) {
        inside[index(context.priority())]--;
        wakeWaiting();
      }
    }
  }

  private void pass(TransferPriority priority) {
    synchronized (this) {
      long first = passed;
      if (isMoreUrgentInside(priority)) {
        waiting++;
        try {
          Uninterruptibly.await(
              this, () -> !isMoreUrgentInside(priority) || passed - first >= MOST_OVERTAKEN);
        } finally {
          waiting--;
        }
      }
      passed++;
      wakeWaiting();
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

  /** Wakes the waiting threads, if any. The caller holds the monitor. */
  private void wakeWaiting() {
    if (waiting > 0) {
      notifyAll();
    }
  }
}
