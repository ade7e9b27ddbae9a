package dev.tidepool.runtime.buffer;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.threads.StackReserve;
import java.util.List;

/** The event that ends the producer's use of adopted memory. */
public final class ProducerEvent {
  private ProducerEvent() {}

  /**
   * Waits for the event. Writes that are requested meanwhile are queued after it.
   *
   * @param buffer over the adopted memory
   * @param event the driver's handle
   */
  public static void await(UnifiedBuffer<?> buffer, long event) {
    BufferHandle<?> handle = HostHold.handle(buffer);
    StackReserve.check();
    Storage storage = handle.storage();
    Operation.of(
            List.of(ResourceAccess.read(storage)),
            storage.context().transferThreads(),
            handle.guarded(
                () -> storage.context().device().awaitForeign(event),
                "waiting for the producer of"))
        .perform(storage.runsHere());
  }
}
