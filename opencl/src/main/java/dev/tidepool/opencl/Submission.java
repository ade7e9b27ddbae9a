package dev.tidepool.opencl;

import dev.tidepool.spi.support.Closing;
import java.util.Arrays;

/**
 * The commands of one operation on their way into a queue: an operation that needs several is done
 * when the last is and failed when any is. Used by one thread. Closed before its {@link #end}, it
 * drops the events of what was enqueued already, because a later command was refused.
 */
final class Submission implements AutoCloseable {
  private final Context context;
  private final long queue;
  private final long[] waits;
  private long[] events = new long[1];
  private int count;

  Submission(Context context, long queue) {
    this(context, queue, new long[0]);
  }

  /**
   * Commands on their way into a queue.
   *
   * @param waits the events that kernels among them wait for; they fail with these
   */
  Submission(Context context, long queue, long[] waits) {
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

  /** Takes over the event of a command that was enqueued. */
  void add(long event) {
    if (count == events.length) {
      events = Arrays.copyOf(events, count * 2);
    }
    events[count++] = event;
  }

  /** Hands the commands to the device; at least one was added. */
  OpenClEvent end() {
    OpenCL.clFlush(queue);
    OpenClEvent event = new OpenClEvent(context, Arrays.copyOf(events, count));
    count = 0;
    return event;
  }

  /** Commands of which no caller got an event end here: what they use is their caller's again. */
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
