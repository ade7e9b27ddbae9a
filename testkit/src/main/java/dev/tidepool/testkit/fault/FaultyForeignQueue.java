package dev.tidepool.testkit.fault;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.testkit.SpiCall;
import org.jspecify.annotations.Nullable;

/** A queue of code outside of Tidepool, whose calls can be made to fail. */
record FaultyForeignQueue(FaultyDevice device, NativeQueue queue) implements NativeQueue {
  @Override
  public long handle() {
    return queue.handle();
  }

  @Override
  public void after(Event event) {
    device.check(SpiCall.AFTER);
    queue.after(FaultyQueue.own(event));
  }

  @Override
  public Event mark() {
    @Nullable AcceleratorException broken = FaultyQueue.begin(device, SpiCall.MARK);
    return new FaultyEvent(device, queue.mark(), broken);
  }

  @Override
  public void finish() {
    device.next(SpiCall.FINISH);
    queue.finish();
  }

  @Override
  public void close() {
    device.next(SpiCall.CLOSE_QUEUE);
    queue.close();
  }
}
