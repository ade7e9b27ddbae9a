/**
 * JMH benchmarks of the pool, transfers and kernels. Each runs beside competing libraries and a
 * naive alternative.
 */
@NullMarked
package dev.tidepool.benchmarks;

import org.jspecify.annotations.NullMarked;
