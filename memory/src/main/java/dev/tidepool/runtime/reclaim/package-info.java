/**
 * Frees memory when it is short.
 *
 * <p>The {@code OutOfMemoryRecovery} says when, the {@code Reclaimer} how: trim, compact, evict,
 * spill. {@code BlockAllocator} is where a manager takes each block from.
 */
@NullMarked
package dev.tidepool.runtime.reclaim;

import org.jspecify.annotations.NullMarked;
