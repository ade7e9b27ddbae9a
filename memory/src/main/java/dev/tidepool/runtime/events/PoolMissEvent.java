package dev.tidepool.runtime.events;

import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import org.jspecify.annotations.Nullable;

/** No idle block served a request. The duration includes the allocation of the block. */
@Name("dev.tidepool.PoolMiss")
@Label("Pool Miss")
@Description("A pool had no idle block for a request, and asked the driver or the system for one")
public final class PoolMissEvent extends MemoryEvent {
  @Label("Pool")
  String pool = "";

  @Label("Bytes")
  @Description("The size of the block that the request got")
  @DataAmount
  long bytes;

  private PoolMissEvent() {}

  static @Nullable PoolMissEvent begun() {
    return begun(new PoolMissEvent());
  }

  /** Commits the event; the block is allocated. */
  public void missed(String accelerator, String pool, long bytes) {
    this.accelerator = accelerator;
    this.pool = pool;
    this.bytes = bytes;
    commit();
  }
}
