/**
 * Pools of Java objects and arrays, behind {@link dev.tidepool.pooling}.
 *
 * <p>An array pool is an object pool for each size class.
 */
@NullMarked
package dev.tidepool.pool.object;

import org.jspecify.annotations.NullMarked;
