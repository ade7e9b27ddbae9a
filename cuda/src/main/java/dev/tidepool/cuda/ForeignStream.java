package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.NativeQueue;

/**
 * A stream of code outside of Tidepool, which destroys the stream after Tidepool has released it.
 */
final class ForeignStream implements NativeQueue {
  /** The last of the handles of default streams: the null stream, LEGACY, this. */
  private static final long CU_STREAM_PER_THREAD = 2;

  /**
   * The stream of its events, as far as queues may rely on it: the owner can destroy a stream whose
   * commands are running, and the driver may give its handle to another stream.
   */
  private static final long OF_NO_STREAM = 0;

  private final CudaDevice device;
  private final Context context;
  private final EventPool events;
  private final long stream;

  private ForeignStream(CudaDevice device, long stream) {
    this.device = device;
    this.context = device.context();
    this.events = device.events();
    this.stream = stream;
  }

  /**
   * Returns whether a handle stands for a default stream, which belongs to a context or a thread.
   */
  static boolean isDefault(long stream) {
    return stream >= 0 && stream <= CU_STREAM_PER_THREAD;
  }

  /** Returns a queue over the handle of a stream, which must belong to the device's context. */
  static ForeignStream of(CudaDevice device, long stream) {
    if (isDefault(stream)) {
      throw new IllegalArgumentException(
          "the default stream of "
              + device.info().id()
              + " belongs to a context or a thread, not to its user; create a stream for the"
              + " library that you call");
    }
    long owner;
    try {
      owner = device.context().call(() -> Cuda.cuStreamGetCtx(stream));
    } catch (AcceleratorException refused) {
      throw new IllegalArgumentException(
          "%#x is no stream of %s: %s".formatted(stream, device.info().id(), refused.getMessage()),
          refused);
    }
    if (owner != device.context().handle()) {
      throw new IllegalArgumentException(
          "the stream is of another context than that of "
              + device.info().id()
              + "; create it while NativeAccess.context() is current");
    }
    return new ForeignStream(device, stream);
  }

  @Override
  public long handle() {
    return stream;
  }

  @Override
  public void after(Event event) {
    CudaQueue.after(device, stream, event);
  }

  @Override
  public Event mark() {
    return context.call(
        () -> {
          long event = events.take();
          try {
            Cuda.cuEventRecord(event, stream);
            return new CudaEvent(context, events, "cuEventRecord", event, OF_NO_STREAM);
          } catch (RuntimeException | Error refused) {
            events.giveBack(event);
            throw refused;
          }
        });
  }

  @Override
  public void finish() {
    context.run(() -> Cuda.cuStreamSynchronize(stream));
  }

  /** Does nothing: the owner destroys the stream. */
  @Override
  public void close() {}
}
