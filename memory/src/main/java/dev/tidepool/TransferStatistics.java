package dev.tidepool;

import java.time.Duration;

/**
 * What a manager moved so far. Copies within the host's memory are no transfers.
 *
 * @param hostToDeviceBytes bytes that went from the host's memory to the device's
 * @param hostToDeviceTransfers how often
 * @param hostToDeviceTime the time that took
 * @param deviceToHostBytes bytes that went from the device's memory to the host's
 * @param deviceToHostTransfers how often
 * @param deviceToHostTime the time that took
 * @param deviceToDeviceBytes bytes that the driver copied from device memory to device memory
 * @param deviceToDeviceTransfers how often
 * @param stagedBytes those of the bytes between host and device that went through staging blocks
 */
public record TransferStatistics(
    long hostToDeviceBytes,
    long hostToDeviceTransfers,
    Duration hostToDeviceTime,
    long deviceToHostBytes,
    long deviceToHostTransfers,
    Duration deviceToHostTime,
    long deviceToDeviceBytes,
    long deviceToDeviceTransfers,
    long stagedBytes) {}
