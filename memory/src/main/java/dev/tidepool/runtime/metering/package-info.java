/**
 * What hot paths count and write down: allocations, leaks, call sites, a trace.
 *
 * <p>A leak group watches buffers that were allocated one after another with one phantom reference.
 * The package knows no buffers: it counts bytes and tags.
 */
@NullMarked
package dev.tidepool.runtime.metering;

import org.jspecify.annotations.NullMarked;
