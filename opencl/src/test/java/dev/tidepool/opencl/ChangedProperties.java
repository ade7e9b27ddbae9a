package dev.tidepool.opencl;

/** What a device would say of itself if it was another one. */
final class ChangedProperties {
  private ChangedProperties() {}

  static DeviceProperties withMaximum(DeviceProperties device, long maxAllocation) {
    return of(device, maxAllocation, device.maker());
  }

  static DeviceProperties withMaker(DeviceProperties device, DeviceProperties.Maker maker) {
    return of(device, device.maxAllocation(), maker);
  }

  private static DeviceProperties of(
      DeviceProperties device, long maxAllocation, DeviceProperties.Maker maker) {
    return new DeviceProperties(
        device.handle(),
        device.name(),
        device.driver(),
        device.version(),
        device.type(),
        device.globalMemory(),
        maxAllocation,
        device.baseAlignment(),
        device.hostUnified(),
        device.svmCapabilities(),
        device.fp64(),
        device.subnormals(),
        device.correctlyRoundedDivideSqrt(),
        device.longAtomics(),
        device.localMemory(),
        device.maxGroup(),
        device.maxGroupSizes(),
        maker);
  }
}
