/**
 * Blocks of memory, kept idle for the next request.
 *
 * <p>What a pool saves is not the allocator's call but what comes with it: page faults, the
 * driver's round trip, and the end of a segment on every thread. A {@link
 * dev.tidepool.pool.block.MemoryPool} hands out {@linkplain dev.tidepool.pool.block.Lease leases};
 * a block has one lease at a time. It knows no device and runs no thread.
 *
 * <p>Idle blocks go back to the source for several reasons, and in different orders. The policy is
 * {@link dev.tidepool.pooling.EvictionPolicy}, its key the rank of a block.
 *
 * <ul>
 *   <li>A request finds no memory, the host or the device has little left, or a program trims:
 *       {@link dev.tidepool.pool.block.MemoryPool#trim}. All that is idle goes, in no particular
 *       order and whatever the policy.
 *   <li>The pool is full when a block comes back ({@code IdleBlocks}): first the blocks that the
 *       policy names, then slabs, the newest first.
 *   <li>The pool would become larger than what is in use warrants ({@code HighWater}): as above.
 *   <li>The budget for page-locked memory is used up ({@code PinnedReclaimer}): the oldest blocks
 *       of all pools first, by {@link dev.tidepool.pool.block.MemoryPool#idlePieces}.
 *   <li>Memory was not used for a while, which is no shortage: {@link
 *       dev.tidepool.pool.block.MemoryPool#trimIdleSince}. Blocks and slabs, in the order of the
 *       policy.
 * </ul>
 */
@NullMarked
package dev.tidepool.pool.block;

import org.jspecify.annotations.NullMarked;
