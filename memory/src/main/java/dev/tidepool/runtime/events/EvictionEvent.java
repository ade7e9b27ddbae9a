package dev.tidepool.runtime.events;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import org.jspecify.annotations.Nullable;

/** A device copy was freed. The duration includes the copy of its newer bytes to the host. */
@Name("dev.tidepool.Eviction")
@Label("Eviction")
@Description(
    "The device copy of an idle buffer was freed because memory ran out, or the manager was"
        + " suspended")
public final class EvictionEvent extends MemoryEvent {
  @Label("Tag")
  String tag = "";

  @Label("Bytes")
  @DataAmount
  long bytes;

  private EvictionEvent() {}

  static @Nullable EvictionEvent begun() {
    return begun(new EvictionEvent());
  }

  /** Commits the event; the device copy is freed. */
  public void evicted(String accelerator, String tag, long bytes) {
    this.accelerator = accelerator;
    this.tag = tag;
    this.bytes = bytes;
    commit();
  }
}
