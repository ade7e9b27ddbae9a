/**
 * Pools of Java objects and arrays, and the statistics of memory pools.
 *
 * <p>{@link dev.tidepool.pooling.ObjectPool} and {@link dev.tidepool.pooling.ArrayPool} reuse
 * objects and arrays that are expensive to create. Managers pool memory blocks automatically;
 * {@link dev.tidepool.pooling.PoolStatistics} has the figures of these pools.
 */
@NullMarked
package dev.tidepool.pooling;

import org.jspecify.annotations.NullMarked;
