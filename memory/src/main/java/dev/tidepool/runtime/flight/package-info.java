/**
 * The events that Java Flight Recorder gets of the memory: one class for each kind of event, and
 * {@link dev.tidepool.runtime.flight.Flight}, through which the runtime reaches them.
 *
 * <p>The module {@code jdk.jfr} is optional. Classes of this package but {@code Flight} are only
 * loaded where it is there, so an image without it works and records nothing.
 */
@NullMarked
package dev.tidepool.runtime.flight;

import org.jspecify.annotations.NullMarked;
