package dev.tidepool.runtime.events;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** A request failed after everything that could be given back was. */
@Name("dev.tidepool.OutOfMemory")
@Label("Out of Device Memory")
@Description("An allocation failed after everything that could be given back was")
final class OutOfMemoryEvent extends MemoryEvent {
  @Label("Requested")
  @DataAmount
  long requested;

  @Label("Free")
  @Description("What the driver or the system said was free; -1 if it did not say")
  @DataAmount
  long free;

  @Label("Pooled")
  @Description("Bytes that lay idle in pools")
  @DataAmount
  long pooled;

  @Label("Live")
  @Description("Bytes of live buffers")
  @DataAmount
  long live;

  @Label("Message")
  String message = "";

  static void exhausted(
      String accelerator, long requested, long free, long pooled, long live, String message) {
    OutOfMemoryEvent event = new OutOfMemoryEvent();
    event.accelerator = accelerator;
    event.requested = requested;
    event.free = free;
    event.pooled = pooled;
    event.live = live;
    event.message = message;
    event.commit();
  }
}
