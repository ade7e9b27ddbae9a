package dev.tidepool.runtime.events;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import org.jspecify.annotations.Nullable;

/** Pools gave idle blocks back. */
@Name("dev.tidepool.Trim")
@Label("Pool Trim")
@Description("The pools of a memory manager gave idle blocks back to the driver and the system")
public final class TrimEvent extends MemoryEvent {
  @Label("Cause")
  @Description(
      "request, shortage (the machine or the device has little memory left), age, suspend (the"
          + " manager gives its memory up for a time), or budget (the"
          + " accelerator needed page-locked memory, which any manager gave back)")
  String cause = "";

  @Label("Bytes")
  @Description("What was given back")
  @DataAmount
  long bytes;

  private TrimEvent() {}

  static @Nullable TrimEvent begun() {
    return begun(new TrimEvent());
  }

  /** Commits the event, if any bytes were given back. */
  public void trimmed(String accelerator, String cause, long bytes) {
    if (bytes > 0) {
      this.accelerator = accelerator;
      this.cause = cause;
      this.bytes = bytes;
      commit();
    }
  }
}
