package dev.tidepool.testkit.fault;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Event;
import dev.tidepool.testkit.SpiCall;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The end of a command that may be chosen to fail. It always waits for the real command first:
 * memory that a failed command used must be free to go. The monitor lets one thread at a time wait,
 * so that a failure is the same for all.
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
   * Creates the end of a command.
   *
   * @param undo takes the command back when its event is chosen to fail, where a failed command
   *     must not have happened
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
