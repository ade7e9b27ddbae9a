package dev.tidepool.runtime.supply;

import dev.tidepool.link.DeviceLink;
import dev.tidepool.transfer.TransferCalibration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The link of a manager to its device, which is opened for the first transfer. */
public final class OnDemandLink implements Supplier<DeviceLink> {
  private final Supplier<DeviceLink> opening;
  private final SessionResources resources;
  private final AtomicReference<@Nullable Open> open = new AtomicReference<>();

  private record Open(DeviceLink link, Runnable closing) {}

  /**
   * Creates a link that is not open.
   *
   * @param opening opens the queues
   */
  public OnDemandLink(Supplier<DeviceLink> opening, SessionResources resources) {
    this.opening = opening;
    this.resources = resources;
  }

  @Override
  public DeviceLink get() {
    Open present = open.get();
    return present == null ? open() : present.link;
  }

  private DeviceLink open() {
    DeviceLink link = opening.get();
    Open fresh;
    try {
      fresh = new Open(link, resources.queues(link.queues()));
    } catch (Throwable e) {
      // The heap may be full.
      link.close();
      throw e;
    }
    if (open.compareAndSet(null, fresh)) {
      return link;
    }
    fresh.closing.run();
    return Objects.requireNonNull(open.get()).link;
  }

  /** Returns the measured cost of the device's transfer ways; null before the measurement. */
  public @Nullable TransferCalibration calibration() {
    Open present = open.get();
    return present == null ? null : present.link.calibration();
  }

  /** Closes the queues of the link. A later use opens a new link. */
  public void end() {
    Open last = open.getAndSet(null);
    if (last != null) {
      last.closing.run();
    }
  }
}
