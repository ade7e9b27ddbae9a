/**
 * What every accelerator promises, as tests that any backend can run, and the instruments for it:
 * fault injection, simulated drivers, a JUnit extension that fails a test which leaves buffers
 * open.
 *
 * <p>It uses the public packages and the SPI of {@code dev.tidepool.memory}, JUnit and AssertJ.
 */
@NullMarked
package dev.tidepool.testkit;

import org.jspecify.annotations.NullMarked;
