package dev.tidepool.runtime;

import dev.tidepool.spi.Device;

/**
 * What the managers of one device of a session share.
 *
 * @param session that opened the device
 * @param device as its backend made it
 * @param workers the session's threads
 * @param ticks the session's clock
 * @param waiters the requests of the session that wait for memory
 * @param placing whose turn it is to find memory of the device for work over several buffers
 */
record DeviceContext(
    OpenSession session,
    Device device,
    Workers workers,
    Ticks ticks,
    MemoryWaiters waiters,
    Placing.Turn placing) {}
