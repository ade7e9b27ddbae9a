/**
 * JMH benchmarks: the pool, transfers and kernels, each beside its peers and beside the naive way,
 * in one run.
 */
@NullMarked
package dev.tidepool.benchmarks;

import org.jspecify.annotations.NullMarked;
