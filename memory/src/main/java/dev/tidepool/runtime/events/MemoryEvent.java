package dev.tidepool.runtime.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import org.jspecify.annotations.Nullable;

/** The fields that all events have. */
@Category({"Tidepool", "Memory"})
abstract class MemoryEvent extends Event {
  @Label("Accelerator")
  @Description("The id of the accelerator whose memory manager it was")
  String accelerator = "";

  /** Begins the event and returns it; null if no recording has it. */
  static <E extends MemoryEvent> @Nullable E begun(E event) {
    if (!event.isEnabled()) {
      return null;
    }
    event.begin();
    return event;
  }
}
