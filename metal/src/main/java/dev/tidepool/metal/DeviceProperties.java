package dev.tidepool.metal;

import java.util.List;

/**
 * The properties that a device reports, read once. Sizes are in bytes.
 *
 * @param handle the {@code id<MTLDevice>}, owned
 * @param unified whether host and device share one memory
 * @param maxBuffer the largest size of one buffer
 * @param workingSet the memory that can be in use at once without loss of speed; the largest buffer
 *     if the device does not report it
 * @param groupMemory the memory that one group may share
 * @param maxGroup the most items of a group in each dimension
 */
record DeviceProperties(
    long handle,
    String name,
    boolean unified,
    long maxBuffer,
    long workingSet,
    long groupMemory,
    List<Long> maxGroup) {

  static DeviceProperties of(long device) {
    long maxBuffer = Metal.maxBufferLength(device);
    long workingSet = Metal.recommendedMaxWorkingSetSize(device);
    return new DeviceProperties(
        device,
        Metal.name(device),
        Metal.hasUnifiedMemory(device),
        maxBuffer,
        workingSet > 0 ? workingSet : maxBuffer,
        Metal.maxThreadgroupMemoryLength(device),
        Metal.maxThreadsPerThreadgroup(device));
  }
}
