/**
 * Programs whose typical allocations are generated as traces, which {@code tidepool bench --replay}
 * repeats with and without a pool.
 */
@NullMarked
package dev.tidepool.benchmarks.trace;

import org.jspecify.annotations.NullMarked;
