package dev.tidepool.runtime.supply;

import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.StagingAllocator;
import dev.tidepool.link.StagingThreads;
import dev.tidepool.spi.Device;
import dev.tidepool.transfer.TransferCalibration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The link of a manager to its device, which is opened for the first transfer. */
public final class OnDemandLink implements Supplier<DeviceLink> {
  private final Device device;
  private final StagingAllocator staging;
  private final StagingThreads helpers;
  private final long chunk;
  private final Runnable beforeLarge;
  private final SessionResources resources;
  private final AtomicReference<@Nullable Open> open = new AtomicReference<>();

  private record Open(DeviceLink link, Runnable closing) {}

  /**
   * Creates a link that is not open.
   *
   * @param staging provides staging blocks
   * @param helpers help to fill and empty the staging blocks
   * @param chunk the bytes of a staging block
   * @param calibrate measures the cost of the transfer ways; run before the first transfer that is
   *     worth it
   */
  public OnDemandLink(
      Device device,
      StagingAllocator staging,
      StagingThreads helpers,
      long chunk,
      Runnable calibrate,
      SessionResources resources) {
    this.device = device;
    this.staging = staging;
    this.helpers = helpers;
    this.chunk = chunk;
    this.beforeLarge = calibrate;
    this.resources = resources;
  }

  @Override
  public DeviceLink get() {
    Open present = open.get();
    return present == null ? open() : present.link;
  }

  private DeviceLink open() {
    DeviceLink link = new DeviceLink(device, staging, helpers, chunk, beforeLarge);
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
