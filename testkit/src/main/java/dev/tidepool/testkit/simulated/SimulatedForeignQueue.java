package dev.tidepool.testkit.simulated;

import dev.tidepool.spi.Event;
import dev.tidepool.spi.NativeQueue;

/** The runtime's reference to a queue that a test created, like code outside of Tidepool. */
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
