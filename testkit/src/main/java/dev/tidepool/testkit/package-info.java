/**
 * What every accelerator promises, as suites, and the means to test programs with.
 *
 * <p>This package owns the entries: the conformance suite, the random workload, the check for
 * leaks. It uses the public API of {@code dev.tidepool}, and of the runtime nothing; the packages
 * below it know the seam to the backends.
 */
@NullMarked
package dev.tidepool.testkit;

import org.jspecify.annotations.NullMarked;
