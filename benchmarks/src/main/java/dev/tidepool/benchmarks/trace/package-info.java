/**
 * Programs whose allocations are generated, because they are typical: traces that {@code tidepool
 * bench --replay} repeats with a pool and without one.
 */
@NullMarked
package dev.tidepool.benchmarks.trace;

import org.jspecify.annotations.NullMarked;
