package dev.tidepool.opencl;

import dev.tidepool.spi.Event;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import java.util.concurrent.atomic.AtomicBoolean;

/** A command queue of code outside of Tidepool, in order or not; retained until this is closed. */
final class ForeignQueue implements NativeQueue {
  private final OpenClDevice device;
  private final long queue;
  private final AtomicBoolean closed = new AtomicBoolean();

  private ForeignQueue(OpenClDevice device, long queue) {
    this.device = device;
    this.queue = queue;
  }

  /** Retains a queue, which must be of the device and its context. */
  static ForeignQueue of(OpenClDevice device, long queue) {
    if (queue == 0) {
      throw new IllegalArgumentException(
          "0 is no cl_command_queue; lend(...) has a queue of " + device.info().id());
    }
    if (OpenCL.clGetCommandQueueContext(queue) != device.context().handle()) {
      throw new IllegalArgumentException(
          "the queue is of another context than that of "
              + device.info().id()
              + "; create it with NativeAccess.context()");
    }
    if (OpenCL.clGetCommandQueueDevice(queue) != device.properties().handle()) {
      throw new IllegalArgumentException(
          "the queue is of another device than "
              + device.info().id()
              + "; create it with NativeAccess.device()");
    }
    OpenCL.clRetainCommandQueue(queue);
    return new ForeignQueue(device, queue);
  }

  @Override
  public long handle() {
    return queue;
  }

  @Override
  public void after(Event event) {
    CommandOrder.after(device, queue, event);
  }

  @Override
  public Event mark() {
    return CommandOrder.mark(device, queue);
  }

  @Override
  public void finish() {
    OpenCL.clFinish(queue);
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true) && !Shutdown.hasBegun()) {
      Closing.surviving("clReleaseCommandQueue", () -> OpenCL.clReleaseCommandQueue(queue));
    }
  }
}
