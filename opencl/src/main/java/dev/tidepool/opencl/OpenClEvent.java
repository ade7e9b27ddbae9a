package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.UseCount;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The end of one or several commands of one in-order queue. A launch whose arguments were staged is
 * done when its last copy is done, and failed if any of its commands failed.
 *
 * <p>Counts its users, so that a close while another thread waits releases the driver's events
 * after that wait and not during it.
 */
final class OpenClEvent implements Event {
  private final Context context;
  private final long[] events;
  private final UseCount users = new UseCount("an event");
  private final AtomicBoolean closed = new AtomicBoolean();

  /**
   * Takes ownership of events.
   *
   * @param context the context in which they are valid
   * @param events in the order of their commands, at least one
   */
  OpenClEvent(Context context, long... events) {
    this.context = context;
    this.events = events;
  }

  @Override
  public boolean isDone() {
    users.enter();
    try {
      return OpenCL.clGetEventInfoStatus(last()) <= OpenCL.CL_COMPLETE;
    } catch (AcceleratorException unknown) {
      // A failed query says nothing about the command. Only a lost device has ended all commands.
      return unknown.kind() == AcceleratorException.Kind.DEVICE_LOST;
    } finally {
      leave();
    }
  }

  @Override
  public void await() {
    users.enter();
    try {
      waitForEnd();
      for (long event : events) {
        int status = OpenCL.clGetEventInfoStatus(event);
        if (status < OpenCL.CL_COMPLETE) {
          throw NativeCall.failure(functionOf(event), status);
        }
      }
    } finally {
      leave();
    }
  }

  /** Waits for the end, successful or not. */
  void awaitEnd() {
    users.enter();
    try {
      waitForEnd();
    } finally {
      leave();
    }
  }

  private void waitForEnd() {
    DriverWait.untilEnded(() -> OpenCL.clWaitForEvents(last()));
  }

  private static String functionOf(long event) {
    try {
      return OpenCL.clGetEventInfoFunction(event);
    } catch (AcceleratorException unknown) {
      return "a command";
    }
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      leave();
    }
  }

  Context context() {
    return context;
  }

  /** Returns the last command's event with one more reference, which the caller releases. */
  long retained() {
    users.enter();
    try {
      OpenCL.clRetainEvent(last());
      return last();
    } finally {
      leave();
    }
  }

  private long last() {
    return events[events.length - 1];
  }

  private void leave() {
    if (users.leave()) {
      for (long event : events) {
        Closing.surviving("clReleaseEvent", () -> OpenCL.clReleaseEvent(event));
      }
    }
  }
}
