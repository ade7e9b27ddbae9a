package dev.tidepool.opencl;

import dev.tidepool.spi.support.Closing;
import java.util.Arrays;

/**
 * Enqueues the commands of one operation. An operation with several commands is done when the last
 * one is done, and failed if any of them failed. Used by one thread. If it is closed before its
 * {@link #end}, because a command was refused, it drops the events of the commands enqueued before.
 */
final class Submission implements AutoCloseable {
  private final Context context;
  private final long queue;
  private final long[] waits;
  private long[] events = new long[1];
  private int count;

  /**
   * Creates a submission to a queue.
   *
   * @param waits the events for which its kernels wait; the kernels fail if these events fail
   */
  Submission(Context context, long queue, long... waits) {
    this.context = context;
    this.queue = queue;
    this.waits = waits;
  }

  Context context() {
    return context;
  }

  long queue() {
    return queue;
  }

  long[] waits() {
    return waits;
  }

  /** Takes ownership of the event of an enqueued command. */
  void add(long event) {
    if (count == events.length) {
      events = Arrays.copyOf(events, count * 2);
    }
    events[count++] = event;
  }

  /** Submits the commands to the device; at least one was added. */
  OpenClEvent end() {
    OpenCL.clFlush(queue);
    OpenClEvent event = new OpenClEvent(context, Arrays.copyOf(events, count));
    count = 0;
    return event;
  }

  /**
   * Waits for commands whose event no caller received: afterwards the caller may reuse their
   * memory.
   */
  @Override
  public void close() {
    if (count > 0) {
      Closing.surviving("clFinish", () -> DriverWait.untilEnded(() -> OpenCL.clFinish(queue)));
    }
    while (count > 0) {
      long event = events[--count];
      Closing.surviving("clReleaseEvent", () -> OpenCL.clReleaseEvent(event));
    }
  }
}
