/**
 * Counters and records that hot paths write: allocations, leaks, call sites, a trace.
 *
 * <p>A leak group watches several buffers that were allocated one after another, with one phantom
 * reference. The package does not know buffers: it counts bytes and tags.
 */
@NullMarked
package dev.tidepool.runtime.metering;

import org.jspecify.annotations.NullMarked;
