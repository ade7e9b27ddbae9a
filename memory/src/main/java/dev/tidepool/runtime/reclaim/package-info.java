/**
 * Frees memory when it is short.
 *
 * <p>{@code BlockAllocator} allocates all blocks of a manager. If a request is refused, {@code
 * OutOfMemoryRecovery} tries its strategies in order. {@code Reclaimer} trims the pools and
 * compacts their blocks. {@code Eviction} selects buffers, in the order of {@code
 * EvictionCandidates}, and a {@code Relocation} evicts or spills one buffer.
 */
@NullMarked
package dev.tidepool.runtime.reclaim;

import org.jspecify.annotations.NullMarked;
