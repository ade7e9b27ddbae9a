/**
 * Pools of Java objects and arrays, and what the pools of memory tell about themselves.
 *
 * <p>{@link dev.tidepool.pooling.ObjectPool} and {@link dev.tidepool.pooling.ArrayPool} lend what
 * is costly to make. Memory blocks are pooled by the managers without any call; {@link
 * dev.tidepool.pooling.PoolStatistics} counts what that pool does.
 */
@NullMarked
package dev.tidepool.pooling;

import org.jspecify.annotations.NullMarked;
