/**
 * Blocks of memory, kept idle for the next request.
 *
 * <p>What a pool saves is not the allocator's call but what comes with it: page faults, the
 * driver's round trip, and the end of a segment on every thread. A {@link
 * dev.tidepool.pool.block.MemoryPool} hands out {@linkplain dev.tidepool.pool.block.Lease leases};
 * a block has one lease at a time. It knows no device and runs no thread.
 */
@NullMarked
package dev.tidepool.pool.block;

import org.jspecify.annotations.NullMarked;
