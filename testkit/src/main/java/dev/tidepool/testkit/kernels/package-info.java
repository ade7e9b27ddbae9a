/**
 * Random kernels written as Java methods, compared with what the methods compute as plain Java;
 * {@link dev.tidepool.testkit.RandomKernels} is the entry.
 *
 * <p>A kernel follows from its seed and from the set of parts that are left out, so a failing
 * kernel is shrunk by leaving out more.
 */
@NullMarked
package dev.tidepool.testkit.kernels;

import org.jspecify.annotations.NullMarked;
