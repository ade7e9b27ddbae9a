/**
 * Pools of Java objects and arrays; they implement {@link dev.tidepool.pooling}.
 *
 * <p>An array pool has an object pool for each size class.
 */
@NullMarked
package dev.tidepool.pool.object;

import org.jspecify.annotations.NullMarked;
