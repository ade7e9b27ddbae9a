/**
 * Size classes and thread stripes, which the pools of memory and of objects share.
 *
 * <p>Blocks of memory are pooled in {@link dev.tidepool.pool.block}, objects and arrays in {@link
 * dev.tidepool.pool.object}.
 */
@NullMarked
package dev.tidepool.pool;

import org.jspecify.annotations.NullMarked;
