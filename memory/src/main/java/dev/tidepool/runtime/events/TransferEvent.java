package dev.tidepool.runtime.events;

import dev.tidepool.transfer.TransferWay;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Threshold;
import org.jspecify.annotations.Nullable;

/** Bytes moved between host and device, or on devices. */
@Name("dev.tidepool.Transfer")
@Label("Transfer")
@Description("Bytes moved between the host and a device, or between device copies")
@Threshold("100 us")
public final class TransferEvent extends MemoryEvent {
  @Label("Direction")
  @Description("HOST_TO_DEVICE, DEVICE_TO_HOST or DEVICE_TO_DEVICE")
  String direction = "";

  @Label("Way")
  @Description("How the bytes went: PINNED_DIRECT, STAGED_PINNED and so on")
  String way = "";

  @Label("Tag")
  @Description("The tag of the buffer; of the destination's where there are two")
  String tag = "";

  @Label("Bytes")
  @DataAmount
  long bytes;

  private TransferEvent() {}

  static @Nullable TransferEvent begun() {
    return begun(new TransferEvent());
  }

  /** Commits the event; the bytes have arrived. */
  public void moved(String accelerator, String direction, TransferWay way, String tag, long bytes) {
    this.accelerator = accelerator;
    this.direction = direction;
    this.way = way.name();
    this.tag = tag;
    this.bytes = bytes;
    commit();
  }
}
