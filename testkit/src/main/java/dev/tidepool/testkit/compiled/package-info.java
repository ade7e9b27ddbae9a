/**
 * Compiles C++ libraries that stand in for drivers where tests run, and provides the functions that
 * all of them have.
 *
 * <p>The resources of this package are the C++ sources that the simulated drivers share: a ledger
 * of calls, failures and findings, and the execution of compiled kernels.
 */
@NullMarked
package dev.tidepool.testkit.compiled;

import org.jspecify.annotations.NullMarked;
