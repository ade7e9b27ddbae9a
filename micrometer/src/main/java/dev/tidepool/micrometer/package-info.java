/**
 * The figures of memory managers as Micrometer meters, for any framework with a meter registry.
 * Uses only the public API of the library.
 */
@NullMarked
package dev.tidepool.micrometer;

import org.jspecify.annotations.NullMarked;
