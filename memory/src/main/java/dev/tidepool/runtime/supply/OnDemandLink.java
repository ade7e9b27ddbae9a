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

/** The link of a manager to its device, opened when something first moves. */
public final class OnDemandLink implements Supplier<DeviceLink> {
  private final Device device;
  private final StagingAllocator staging;
  private final StagingThreads helpers;
  private final long chunk;
  private final Runnable beforeLarge;
  private final SessionResources resources;
  private final AtomicReference<@Nullable DeviceLink> link = new AtomicReference<>();
  // Closes the link; set by the operation that opened it.
  private volatile Runnable closing = () -> {};

  /**
   * Not open.
   *
   * @param staging gives blocks for bytes on their way
   * @param helpers help to fill and empty them
   * @param chunk bytes of one of them
   * @param calibrate measures what the ways cost, where that is worth its time
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
    DeviceLink open = link.get();
    return open == null ? open() : open;
  }

  private DeviceLink open() {
    DeviceLink fresh = new DeviceLink(device, staging, helpers, chunk, beforeLarge);
    if (link.compareAndSet(null, fresh)) {
      closing = resources.queues(fresh.queues());
      return fresh;
    }
    fresh.close();
    return Objects.requireNonNull(link.get());
  }

  /** What the ways of the device cost; null before that is measured. */
  public @Nullable TransferCalibration calibration() {
    DeviceLink open = link.get();
    return open == null ? null : open.calibration();
  }

  /** Forgets the link, whose queues what is returned closes. */
  public Runnable end() {
    link.set(null);
    return closing;
  }
}
