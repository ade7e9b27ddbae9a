/**
 * Blocks of memory, kept idle for the next request.
 *
 * <p>A pool mainly saves the costs around the allocator's call: page faults, the driver's round
 * trip, and closing a segment for every thread. A {@link dev.tidepool.pool.block.MemoryPool} hands
 * out {@linkplain dev.tidepool.pool.block.Lease leases}; a block has one lease at a time. It knows
 * no device and runs no thread.
 *
 * <p>Idle blocks are returned to the source for several reasons and in different orders. The policy
 * is an {@link dev.tidepool.pooling.EvictionPolicy}; its key is the rank of a block.
 *
 * <ul>
 *   <li>A request finds no memory, the host or the device has little left, or a program trims:
 *       {@link dev.tidepool.pool.block.MemoryPool#trim} frees all idle memory, in no particular
 *       order and whatever the policy.
 *   <li>The pool is full when a block is returned ({@code IdleBlocks}): first the blocks that the
 *       policy chooses, then slabs, the newest first.
 *   <li>The pool would become too large for the bytes in use ({@code HighWater}): as above.
 *   <li>The budget for page-locked memory is exhausted ({@code PinnedReclaimer}): the oldest blocks
 *       of all pools first, by {@link dev.tidepool.pool.block.MemoryPool#idlePieces}.
 *   <li>Memory was not used for a while, although there is no shortage: {@link
 *       dev.tidepool.pool.block.MemoryPool#trimIdleSince} frees blocks and slabs in the order of
 *       the policy.
 * </ul>
 */
@NullMarked
package dev.tidepool.pool.block;

import org.jspecify.annotations.NullMarked;
