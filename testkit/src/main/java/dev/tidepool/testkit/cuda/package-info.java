/**
 * A CUDA driver without a GPU: C++ sources with the driver's ABI, compiled where tests run.
 *
 * <p>Programs load it in place of {@code libcuda} and do not notice. It runs streams on threads of
 * their own, CUDA C by the host's compiler, and is stricter than a real driver: what would be a
 * crash, a silent error or a slow call there is written down here.
 */
@NullMarked
package dev.tidepool.testkit.cuda;

import org.jspecify.annotations.NullMarked;
