/**
 * What the pools of memory and of objects share: size classes, and how threads keep apart.
 *
 * <p>Blocks of memory are pooled in {@link dev.tidepool.pool.block}, objects and arrays in {@link
 * dev.tidepool.pool.object}.
 */
@NullMarked
package dev.tidepool.pool;

import org.jspecify.annotations.NullMarked;
