package dev.tidepool.testkit.simulated;

import dev.tidepool.spi.Event;
import dev.tidepool.spi.NativeQueue;

/** What the runtime holds of a queue that a test made, as code outside of Tidepool would. */
final class SimulatedForeignQueue implements NativeQueue {
  private final SimulatedDevice device;
  private final SimulatedQueue queue;

  SimulatedForeignQueue(SimulatedDevice device, SimulatedQueue queue) {
    this.device = device;
    this.queue = queue;
  }

  @Override
  public long handle() {
    return queue.handle();
  }

  @Override
  public void after(Event event) {
    queue.after(event);
  }

  @Override
  public Event mark() {
    return queue.mark();
  }

  @Override
  public void finish() {
    queue.finish();
  }

  @Override
  public void close() {
    device.letGo(this);
  }
}
