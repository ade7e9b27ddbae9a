/**
 * Frees memory when it is short.
 *
 * <p>{@code OutOfMemoryRecovery} decides what is tried, in which order. {@code Reclaimer} trims the
 * pools and compacts their blocks. A {@code Relocation} evicts or spills one buffer. {@code
 * Eviction} has the order in which buffers give memory up, {@code EvictionCandidates} the key of
 * that order. {@code BlockAllocator} is where a manager takes each block from.
 */
@NullMarked
package dev.tidepool.runtime.reclaim;

import org.jspecify.annotations.NullMarked;
