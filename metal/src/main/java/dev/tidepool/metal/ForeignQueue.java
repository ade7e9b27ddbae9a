package dev.tidepool.metal;

import dev.tidepool.spi.Event;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import java.util.concurrent.atomic.AtomicBoolean;

/** A command queue of code outside of Tidepool; retained until this is closed. */
final class ForeignQueue implements NativeQueue {
  private final CommandStream stream;
  private final AtomicBoolean closed = new AtomicBoolean();

  private ForeignQueue(CommandStream stream) {
    this.stream = stream;
  }

  /** Retains a queue, which must be of the device. */
  static ForeignQueue of(MetalDevice device, long queue) {
    if (queue == 0) {
      throw new IllegalArgumentException(
          "0 is no id<MTLCommandQueue>; lend(...) has a queue of " + device.info().id());
    }
    if (Metal.deviceOfQueue(queue) != device.handle()) {
      throw new IllegalArgumentException(
          "the queue is of another device than "
              + device.info().id()
              + "; create it with NativeAccess.device()");
    }
    ForeignQueue foreign = new ForeignQueue(new CommandStream(device, queue));
    NativeCall.retain(ObjectKind.QUEUE, queue);
    return foreign;
  }

  @Override
  public long handle() {
    return stream.queue();
  }

  @Override
  public void after(Event event) {
    stream.after(event);
  }

  @Override
  public Event mark() {
    return stream.mark();
  }

  @Override
  public void finish() {
    stream.finish();
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true) || Shutdown.hasBegun()) {
      return;
    }
    stream.close();
    Closing.surviving("release", () -> NativeCall.release(ObjectKind.QUEUE, handle()));
  }
}
