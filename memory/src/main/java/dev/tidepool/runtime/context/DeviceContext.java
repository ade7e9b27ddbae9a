package dev.tidepool.runtime.context;

import dev.tidepool.runtime.order.MemoryWaiters;
import dev.tidepool.runtime.order.MultiBufferAdmission;
import dev.tidepool.runtime.threads.SessionExecutors;
import dev.tidepool.spi.Device;

/**
 * The objects that the managers of one device of a session share.
 *
 * @param session that opened the device
 * @param device as its backend created it
 * @param workers the session's threads
 * @param clock the session's clock
 * @param waiters the requests of the session that wait for memory
 * @param admission the turn in which operations over several buffers get memory of the device
 */
public record DeviceContext(
    OpenSession session,
    Device device,
    SessionExecutors workers,
    CoarseClock clock,
    MemoryWaiters waiters,
    MultiBufferAdmission.Turn admission) {}
