/**
 * A CUDA driver without a GPU: C++ sources with the driver's ABI, compiled where tests run.
 *
 * <p>Programs load it in place of {@code libcuda} and do not notice the difference. It runs streams
 * on its own threads, and compiles CUDA C with the host's compiler. It is stricter than a real
 * driver: it records whatever would be a crash, a silent error or a slow call there.
 */
@NullMarked
package dev.tidepool.testkit.cuda;

import org.jspecify.annotations.NullMarked;
