/**
 * Random kernels written as Java methods, compared with calls of the methods in plain Java. {@link
 * dev.tidepool.testkit.RandomKernels} is the entry point.
 *
 * <p>The seed and the set of omitted parts determine a kernel, so a failing kernel is shrunk by
 * omitting more parts.
 */
@NullMarked
package dev.tidepool.testkit.kernels;

import org.jspecify.annotations.NullMarked;
