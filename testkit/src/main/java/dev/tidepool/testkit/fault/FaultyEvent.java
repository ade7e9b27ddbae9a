package dev.tidepool.testkit.fault;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Event;
import dev.tidepool.testkit.SpiCall;
import org.jspecify.annotations.Nullable;

/**
 * The end of a command that may be chosen to fail. It always waits for the real command first:
 * memory that a failed command used must be free to go.
 */
final class FaultyEvent implements Event {
  private final FaultyDevice device;
  private final Event event;
  private volatile @Nullable AcceleratorException failure;

  FaultyEvent(FaultyDevice device, Event event, @Nullable AcceleratorException failure) {
    this.device = device;
    this.event = event;
    this.failure = failure;
  }

  Event event() {
    return event;
  }

  @Override
  public boolean isDone() {
    return event.isDone();
  }

  @Override
  public void await() {
    Failure now = device.next(SpiCall.EVENT_AWAIT);
    event.await();
    AcceleratorException earlier = failure;
    if (earlier != null) {
      throw earlier;
    }
    if (now != null) {
      AcceleratorException thrown =
          device.isLost()
              ? FaultInjector.lost(SpiCall.EVENT_AWAIT)
              : FaultInjector.refused(SpiCall.EVENT_AWAIT);
      failure = thrown;
      throw thrown;
    }
  }

  @Override
  public void close() {
    device.next(SpiCall.CLOSE_EVENT);
    event.close();
  }
}
