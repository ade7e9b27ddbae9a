/**
 * The figures of memory managers as meters of Micrometer, for any framework that has a meter
 * registry. Uses the public API of the library only.
 */
@NullMarked
package dev.tidepool.micrometer;

import org.jspecify.annotations.NullMarked;
