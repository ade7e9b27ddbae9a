/**
 * Faults at the seam between the runtime and a backend.
 *
 * <p>Owns decorators around every type of {@code dev.tidepool.spi}; they work over any backend,
 * real or simulated, and change nothing until they are armed; and the program whose devices are
 * closed too late.
 */
@NullMarked
package dev.tidepool.testkit.fault;

import org.jspecify.annotations.NullMarked;
