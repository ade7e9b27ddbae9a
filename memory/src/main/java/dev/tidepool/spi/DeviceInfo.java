package dev.tidepool.spi;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.Capability;
import java.util.Set;

/**
 * The properties of a device that do not change.
 *
 * @param id the id, unique in the process, such as {@code opencl:0}
 * @param name the vendor's name
 * @param driver the name and version of the driver
 * @param kind the kind of processor
 * @param capabilities the abilities beyond the minimum
 * @param maximumAllocation the bytes of the largest single block of its own memory
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

  /** Returns whether the device has a capability. */
  public boolean can(Capability capability) {
    return capabilities.contains(capability);
  }
}
