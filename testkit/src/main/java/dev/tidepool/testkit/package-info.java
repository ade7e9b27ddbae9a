/**
 * The contract of every accelerator as suites, and tools to test programs with.
 *
 * <p>This package contains the entry points: the conformance suite, the random workload and the
 * leak check. It uses the public API of {@code dev.tidepool}, and nothing of the runtime. The
 * packages below it know the interface to the backends.
 */
@NullMarked
package dev.tidepool.testkit;

import org.jspecify.annotations.NullMarked;
