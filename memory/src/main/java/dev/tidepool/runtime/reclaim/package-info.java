/**
 * How room is made when memory is short.
 *
 * <p>The {@code Ladder} says when, the {@code Room} how: trim, compact, evict, spill. {@code
 * Blocks} is where a manager takes each block from.
 */
@NullMarked
package dev.tidepool.runtime.reclaim;

import org.jspecify.annotations.NullMarked;
