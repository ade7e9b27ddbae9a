package dev.tidepool.runtime.transfers;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorKind;
import dev.tidepool.Capability;
import dev.tidepool.MemoryInfo;
import dev.tidepool.runtime.context.OpenSession;
import dev.tidepool.spi.Device;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A device of a session, as users see it. */
public record DeviceAccelerator(OpenSession session, Device device) implements Accelerator {
  /**
   * Returns an accelerator that a user has passed, as a device of the session.
   *
   * @throws IllegalArgumentException if the accelerator belongs to another session
   */
  public static DeviceAccelerator of(Accelerator accelerator, OpenSession session) {
    if (!(accelerator instanceof DeviceAccelerator device) || !device.session().equals(session)) {
      throw new IllegalArgumentException(
          "the accelerator " + accelerator.id() + " is of another Tidepool");
    }
    return device;
  }

  @Override
  public String id() {
    return device.info().id();
  }

  @Override
  public String name() {
    return device.info().name();
  }

  @Override
  public AcceleratorKind kind() {
    return device.info().kind();
  }

  @Override
  public Set<Capability> capabilities() {
    return device.info().capabilities();
  }

  @Override
  public MemoryInfo memory() {
    return session.whileOpen(device::memory);
  }

  @Override
  public long maximumAllocation() {
    return device.info().maximumAllocation();
  }

  @Override
  public String driver() {
    return device.info().driver();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof DeviceAccelerator accelerator
        && session.equals(accelerator.session)
        && device.equals(accelerator.device);
  }

  @Override
  public int hashCode() {
    return device.hashCode();
  }

  @Override
  public String toString() {
    return id() + " (" + name() + ")";
  }
}
