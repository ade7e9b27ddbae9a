package dev.tidepool.runtime.events;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** A buffer became unreachable without being closed, and was reclaimed. */
@Name("dev.tidepool.Leak")
@Label("Leak")
@Description("A buffer became unreachable without close() and was reclaimed")
@StackTrace(false)
final class LeakEvent extends MemoryEvent {
  @Label("Element Type")
  String elementType = "";

  @Label("Tag")
  String tag = "";

  @Label("Bytes")
  @DataAmount
  long bytes;

  @Label("Allocation Site")
  @Description("Where it was allocated, if the diagnostics level records that")
  String site = "";

  @Label("Age")
  @Description("The time since it was allocated")
  @Timespan(Timespan.NANOSECONDS)
  long age;

  static void leaked(
      String accelerator, String type, String tag, long bytes, String site, long ageNanos) {
    LeakEvent event = new LeakEvent();
    event.accelerator = accelerator;
    event.elementType = type;
    event.tag = tag;
    event.bytes = bytes;
    event.site = site;
    event.age = ageNanos;
    event.commit();
  }
}
