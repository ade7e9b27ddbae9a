package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.UseCount;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The end of one or several commands of one in-order queue: a launch whose arguments were staged is
 * done when its last copy is, and failed when any of them did.
 *
 * <p>Counts its users, so that closing it while another thread waits releases the driver's events
 * after that wait and not under it.
 */
final class OpenClEvent implements Event {
  private final Context context;
  private final long[] events;
  private final UseCount users = new UseCount("an event");
  private final AtomicBoolean closed = new AtomicBoolean();

  /**
   * Takes over events.
   *
   * @param context where they mean anything
   * @param events in the order enqueued, at least one
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
    } catch (AcceleratorException lost) {
      // A lost device's commands have ended; await says how.
      return true;
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
          throw NativeCall.failure(OpenCL.clGetEventInfoFunction(event), status);
        }
      }
    } finally {
      leave();
    }
  }

  /** Waits for the end, well or not. */
  void awaitEnd() {
    users.enter();
    try {
      waitForEnd();
    } finally {
      leave();
    }
  }

  private void waitForEnd() {
    try {
      OpenCL.clWaitForEvents(last());
    } catch (AcceleratorException failed) {
      // This only says that a command failed; its own status says why.
      if (failed.code() != ErrorCodes.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
        // Nothing says that it has ended, and its memory is another's next: so once more.
        Closing.surviving("clWaitForEvents", () -> OpenCL.clWaitForEvents(last()));
        throw failed;
      }
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

  /** The last command's event with one more reference, which the caller releases. */
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
        OpenCL.clReleaseEvent(event);
      }
    }
  }
}
