package dev.tidepool.runtime.events;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import org.jspecify.annotations.Nullable;

/** A buffer was written to the spill file. The duration includes the write. */
@Name("dev.tidepool.Spill")
@Label("Spill")
@Description(
    "An idle buffer was written to the spill file because memory ran out, or the manager was"
        + " suspended")
public final class SpillEvent extends MemoryEvent {
  @Label("Tag")
  String tag = "";

  @Label("Bytes")
  @DataAmount
  long bytes;

  private SpillEvent() {}

  static @Nullable SpillEvent begun() {
    return begun(new SpillEvent());
  }

  /** Commits the event; the buffer has no memory any more. */
  public void spilled(String accelerator, String tag, long bytes) {
    this.accelerator = accelerator;
    this.tag = tag;
    this.bytes = bytes;
    commit();
  }
}
