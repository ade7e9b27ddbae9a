package dev.tidepool.runtime.order;

import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.Queue;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The queues of one manager for launches that the device orders. Thread-safe.
 *
 * <p>Launches that come after others go to the queue of those. If the device orders launches across
 * queues, others go to the first queue whose launches have ended, or, if all are busy, take turns;
 * if it does not, all go to one queue.
 */
public final class LaunchQueues {
  private final List<LaunchQueue> queues;
  private final LaunchOrder order;
  private final Executor threads;
  private final long pauseNanos;
  private final AtomicInteger turn = new AtomicInteger();

  /**
   * Creates the queues of a device.
   *
   * @param queues of the device
   * @param order what the device promises
   * @param threads platform threads, which may block in the driver
   */
  public LaunchQueues(List<Queue> queues, LaunchOrder order, Executor threads) {
    this(queues, order, threads, LaunchQueue.PAUSE_NANOS);
  }

  LaunchQueues(List<Queue> queues, LaunchOrder order, Executor threads, long pauseNanos) {
    this.order = order;
    this.threads = threads;
    this.pauseNanos = pauseNanos;
    List<Queue> used = order == LaunchOrder.ACROSS_QUEUES ? queues : queues.subList(0, 1);
    this.queues = used.stream().map(this::listFor).toList();
  }

  private LaunchQueue listFor(Queue queue) {
    return new LaunchQueue(queue, threads, pauseNanos);
  }

  /** Threads that wait for no memory. */
  Executor threads() {
    return threads;
  }

  /** Returns what the device promises. */
  LaunchOrder order() {
    return order;
  }

  /**
   * Returns a list of its own for the ends of commands that go to a queue of others: they may be
   * late.
   */
  LaunchQueue apart() {
    return listFor(queues.getFirst().queue());
  }

  /**
   * Returns the queue for a launch that comes after none. Takes no memory: the heap may be full.
   */
  LaunchQueue next() {
    for (int i = 0; i < queues.size(); i++) {
      if (queues.get(i).isIdle()) {
        return queues.get(i);
      }
    }
    return queues.get(Math.floorMod(turn.getAndIncrement(), queues.size()));
  }
}
