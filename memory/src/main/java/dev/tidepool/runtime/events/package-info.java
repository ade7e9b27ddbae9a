/**
 * The memory's events for Java Flight Recorder: one class for each kind of event, and {@link
 * dev.tidepool.runtime.events.FlightEvents}, which starts them for the runtime.
 *
 * <p>The module {@code jdk.jfr} is optional. If it is absent, no class of this package is loaded
 * except {@code FlightEvents}, so an image without it works and records nothing.
 */
@NullMarked
package dev.tidepool.runtime.events;

import org.jspecify.annotations.NullMarked;
