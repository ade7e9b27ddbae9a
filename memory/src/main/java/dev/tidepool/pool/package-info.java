/**
 * Idle memory, kept for the next who asks: size classes, the block pool and its accounts, pools of
 * objects and of arrays.
 *
 * <p>What a pool saves is not the allocator's call but what comes with it: page faults, the
 * driver's round trip, and the end of a segment on every thread. A pool hands out {@link
 * dev.tidepool.pool.Lease leases}; a block has one lease at a time, whatever its holder does. May
 * use {@code dev.tidepool}, {@code dev.tidepool.spi} and {@code dev.tidepool.host}; knows no
 * device, and runs no thread but those that maintain object pools.
 */
@NullMarked
package dev.tidepool.pool;

import org.jspecify.annotations.NullMarked;
