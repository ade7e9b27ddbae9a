/**
 * Libraries in C++ that stand in for drivers: how they are compiled where tests run, and what tests
 * ask of all of them.
 *
 * <p>The resources of this package are the C++ sources that the simulated drivers share: a ledger
 * of calls, failures and findings, and the execution of compiled kernels.
 */
@NullMarked
package dev.tidepool.testkit.compiled;

import org.jspecify.annotations.NullMarked;
