package dev.tidepool.runtime.transfers;

import dev.tidepool.runtime.buffer.CoalescedTransfers;
import dev.tidepool.runtime.threads.HandoffExecutor;
import dev.tidepool.runtime.threads.Resumable;
import dev.tidepool.runtime.threads.TransferExecutor;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The way of one list of transfers through {@link TransferExecutor}: it holds a bounded number of
 * places there, and what is ready of the list takes turns on them. It departs when the whole list
 * has been handed in, so that small transfers find each other.
 *
 * <p>The monitor guards the count; a thread holds it while it takes from the queue.
 */
final class BoundedExecutor extends Resumable implements HandoffExecutor {
  private final HandoffExecutor transferExecutor;
  private final int most;
  private final boolean tells;
  private final Queue<Runnable> line = new ConcurrentLinkedQueue<>();
  private final Runnable drive = this::drive;
  private int places;
  private boolean departed;

  /**
   * Creates a list.
   *
   * @param most how many of its transfers are on their way at once
   * @param tells whether a listener of the user's is called when one ends
   */
  BoundedExecutor(HandoffExecutor transferExecutor, int most, boolean tells) {
    this.transferExecutor = transferExecutor;
    this.most = most;
    this.tells = tells;
  }

  @Override
  public void execute(Runnable task) {
    line.add(task);
    takePlace();
  }

  /** Called by a thread whose place is free at once, unless it calls a listener first. */
  @Override
  public void executeNext(Runnable task) {
    if (tells) {
      execute(task);
    } else {
      line.add(task);
    }
  }

  @Override
  public boolean tells() {
    return tells;
  }

  /** Lets everything go that is ready. */
  void depart() {
    int ready;
    synchronized (this) {
      departed = true;
      ready = Math.min(most, line.size());
    }
    for (int i = 0; i < ready; i++) {
      takePlace();
    }
  }

  private void takePlace() {
    synchronized (this) {
      if (!departed || places == most) {
        return;
      }
      places++;
    }
    try {
      transferExecutor.execute(drive);
    } catch (Throwable e) {
      givePlaceBack();
    }
  }

  /** What is ready finds its place a little later. */
  private void givePlaceBack() {
    synchronized (this) {
      places--;
    }
    leaveUnfinished();
  }

  @Override
  public void resume() {
    depart();
  }

  /** Does one thing of the list, and gets into line again behind what others ask for. */
  private void drive() {
    Runnable next;
    boolean more;
    try {
      synchronized (this) {
        next = CoalescedTransfers.next(line);
        if (next == null) {
          places--;
          return;
        }
        more = !line.isEmpty();
      }
    } catch (Throwable e) {
      givePlaceBack();
      return;
    }
    if (more) {
      takePlace();
    }
    try {
      next.run();
    } finally {
      driveOn();
    }
  }

  private void driveOn() {
    try {
      transferExecutor.executeNext(drive);
    } catch (Throwable e) {
      givePlaceBack();
    }
  }
}
