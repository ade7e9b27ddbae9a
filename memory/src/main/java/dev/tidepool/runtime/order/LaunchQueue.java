package dev.tidepool.runtime.order;

import dev.tidepool.spi.Queue;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The launches that are under way on one queue of a device, and the operations that wait for a
 * place among them.
 *
 * <p>A bounded number is under way: what is not submitted can still be cancelled, and drivers block
 * the thread that submits to a full queue. One thread waits for the ends, in the order of
 * submission, as long as there are any. Where many come fast, it waits for several at once, as
 * network drivers moderate interrupts: to wake it takes longer than a small kernel. Safe for use by
 * any thread. Nothing else is called under the monitor, except that an operation gives its turn up.
 */
final class LaunchQueue extends Resumable implements Runnable {
  /** Launches that are under way at most. */
  static final int PLACES = 64;

  /** Operations wait until so few are under way, so that they come in groups and not one by one. */
  private static final int LOW = PLACES / 2;

  /** A command that ends so soon after the one before it is fast. */
  private static final long FAST_NANOS = 20_000;

  /** After so many fast ones in a row, several are waited for at once, for so long. */
  private static final int STREAM = PLACES;

  private static final long STREAM_NANOS = 50_000;

  private final Queue queue;
  private final Executor threads;

  // Of the thread that waits.
  private long lastNanos;
  private int fastEnds;

  // All guarded by this.
  private int taken;
  private final ArrayDeque<Operation> waiting = new ArrayDeque<>();
  private @Nullable Operation first;
  private @Nullable Operation last;
  private boolean awaited;

  /**
   * Nothing is under way.
   *
   * @param threads platform threads, which may block in the driver
   */
  LaunchQueue(Queue queue, Executor threads) {
    this.queue = queue;
    this.threads = threads;
  }

  Queue queue() {
    return queue;
  }

  /** Takes a place, or lists the operation until there is one. */
  synchronized boolean takePlace(Operation operation) {
    if (taken < PLACES) {
      taken++;
      return true;
    }
    waiting.add(operation);
    operation.giveTurnUp();
    return false;
  }

  /** A place is free: operations that wait are handed in when there are enough. */
  void leavePlace() {
    int free;
    synchronized (this) {
      taken--;
      free = taken <= LOW ? PLACES - taken : 0;
    }
    for (int i = 0; i < free; i++) {
      Operation next;
      synchronized (this) {
        next = waiting.poll();
      }
      if (next == null) {
        return;
      }
      next.handIn();
    }
  }

  /** An operation was submitted: its end is waited for from now on. */
  void add(Operation operation) {
    synchronized (this) {
      if (last == null) {
        first = operation;
      } else {
        launchOf(last).next = operation;
      }
      last = operation;
      if (awaited) {
        return;
      }
      awaited = true;
    }
    resume();
  }

  /** Has a thread wait for what is under way, at once or a little later. */
  @Override
  public void resume() {
    try {
      threads.execute(this);
    } catch (Throwable e) {
      leaveUnfinished();
    }
  }

  /** Waits for the ends of all that is under way. */
  @Override
  public void run() {
    fastEnds = 0;
    lastNanos = System.nanoTime();
    while (true) {
      if (fastEnds >= STREAM) {
        LockSupport.parkNanos(STREAM_NANOS);
      }
      Operation oldest = poll(false);
      if (oldest == null) {
        return;
      }
      int ends = 0;
      for (Operation next = oldest; next != null; next = poll(true)) {
        next.deviceEnded(launchOf(next).awaitEnd());
        ends++;
      }
      long now = System.nanoTime();
      fastEnds = now - lastNanos < ends * FAST_NANOS ? fastEnds + ends : 0;
      lastNanos = now;
    }
  }

  /**
   * Takes the oldest launch off the list.
   *
   * @param ended whether only one that has ended is taken; if not, this thread goes when there is
   *     none
   */
  private synchronized @Nullable Operation poll(boolean ended) {
    Operation oldest = first;
    if (oldest == null) {
      awaited = ended;
      return null;
    }
    if (ended && !launchOf(oldest).hasEnded()) {
      return null;
    }
    first = launchOf(oldest).next;
    launchOf(oldest).next = null;
    if (first == null) {
      last = null;
    }
    return oldest;
  }

  private static DeviceLaunch launchOf(Operation operation) {
    return Objects.requireNonNull(operation.launch(), "it was submitted");
  }
}
