package dev.tidepool.spi;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.Capability;
import java.util.Set;

/**
 * What does not change about a device.
 *
 * @param id unique in the process: {@code opencl:0}
 * @param name the vendor's name
 * @param driver the driver with its version
 * @param kind what sort of processor
 * @param capabilities what it can do beyond the minimum
 * @param maximumAllocation bytes of the largest single block of its own memory
 */
public record DeviceInfo(
    String id,
    String name,
    String driver,
    AcceleratorKind kind,
    Set<Capability> capabilities,
    long maximumAllocation) {
  /** Copies the set. */
  public DeviceInfo {
    capabilities = Set.copyOf(capabilities);
  }

  /** Returns whether the device can do that. */
  public boolean can(Capability capability) {
    return capabilities.contains(capability);
  }
}
