package dev.tidepool.runtime.order;

import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.Queue;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The queues of one manager for launches that the device orders. Thread-safe.
 *
 * <p>A launch behind another one goes to the queue of that launch. If the device orders launches
 * across queues, any other launch goes to the first queue whose launches have ended. If all are
 * busy, such launches use the queues in turns. If the device does not order across queues, all
 * launches go to one queue.
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
   * @param order what the device guarantees
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

  /** Returns threads that never wait for memory. */
  Executor threads() {
    return threads;
  }

  /** Returns what the device guarantees. */
  LaunchOrder order() {
    return order;
  }

  /** Returns a separate list for the ends of commands on a foreign queue, which may take long. */
  LaunchQueue apart() {
    return listFor(queues.getFirst().queue());
  }

  /** Returns the queue for a launch behind no other. Allocates no memory: the heap may be full. */
  LaunchQueue next() {
    for (int i = 0; i < queues.size(); i++) {
      if (queues.get(i).isIdle()) {
        return queues.get(i);
      }
    }
    return queues.get(Math.floorMod(turn.getAndIncrement(), queues.size()));
  }
}
