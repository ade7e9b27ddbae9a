package dev.tidepool.runtime.events;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Throttle;

/** A buffer was allocated. Sampled: 100 a second, unless a recording sets another rate. */
@Name("dev.tidepool.Allocation")
@Label("Buffer Allocation")
@Description("A buffer was allocated; sampled")
@Throttle("100/s")
final class AllocationEvent extends MemoryEvent {
  @Label("Location")
  String location = "";

  @Label("Element Type")
  String elementType = "";

  @Label("Tag")
  @Description("Name of the owner of the bytes; empty if none was given")
  String tag = "";

  @Label("Bytes")
  @DataAmount
  long bytes;

  static boolean isRecorded() {
    return new AllocationEvent().isEnabled();
  }

  static void allocated(String accelerator, String location, String type, String tag, long bytes) {
    AllocationEvent event = new AllocationEvent();
    event.accelerator = accelerator;
    event.location = location;
    event.elementType = type;
    event.tag = tag;
    event.bytes = bytes;
    event.commit();
  }
}
