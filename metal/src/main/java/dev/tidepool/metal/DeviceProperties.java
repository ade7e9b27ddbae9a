package dev.tidepool.metal;

import java.util.List;

/**
 * What a device says of itself, read once. Sizes are in bytes.
 *
 * @param handle the {@code id<MTLDevice>}, owned
 * @param unified whether host and device have one memory
 * @param maxBuffer the most that one buffer may have
 * @param workingSet what can be in use at once and stay fast; the largest buffer where the device
 *     does not tell
 * @param groupMemory what one group may share
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
