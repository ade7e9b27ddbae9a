package dev.tidepool.testkit.fault;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Event;
import dev.tidepool.testkit.SpiCall;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The event of a command that may be made to fail. {@link #await} always waits for the real command
 * first, because the memory of a failed command must be free for release. The monitor admits one
 * waiting thread at a time, so that all threads see the same failure.
 */
final class FaultyEvent implements Event {
  private final FaultyDevice device;
  private final Event event;
  private final Supplier<@Nullable Event> undo;
  private volatile @Nullable AcceleratorException failure;

  FaultyEvent(FaultyDevice device, Event event, @Nullable AcceleratorException failure) {
    this(device, event, failure, () -> null);
  }

  /**
   * Creates the event of a command.
   *
   * @param undo reverts the command if its event is made to fail, for commands that must not have
   *     happened then
   */
  FaultyEvent(
      FaultyDevice device,
      Event event,
      @Nullable AcceleratorException failure,
      Supplier<@Nullable Event> undo) {
    this.device = device;
    this.event = event;
    this.failure = failure;
    this.undo = undo;
  }

  Event event() {
    return event;
  }

  @Override
  public boolean isDone() {
    return event.isDone();
  }

  @Override
  public synchronized void await() {
    Failure now = device.next(SpiCall.EVENT_AWAIT);
    event.await();
    AcceleratorException earlier = failure;
    if (earlier != null) {
      throw earlier;
    }
    if (now != null && now != Failure.DAMAGED) {
      AcceleratorException thrown =
          FaultInjector.thrown(device.isLost() ? Failure.DEVICE_LOST : now, SpiCall.EVENT_AWAIT);
      failure = thrown;
      Event undone = undo.get();
      if (undone != null) {
        undone.await();
        undone.close();
      }
      throw thrown;
    }
  }

  @Override
  public void close() {
    device.next(SpiCall.CLOSE_EVENT);
    event.close();
  }
}
