/**
 * Faults at the interface between the runtime and a backend.
 *
 * <p>The package has decorators for every type of {@code dev.tidepool.spi}. They work over any
 * backend, real or simulated, and change nothing until they are armed. It also has a program that
 * closes its devices too late.
 */
@NullMarked
package dev.tidepool.testkit.fault;

import org.jspecify.annotations.NullMarked;
