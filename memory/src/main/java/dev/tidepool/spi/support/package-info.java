/**
 * Small helpers that the library and its backends share: waits that an interrupt does not end,
 * files of one user, settings, and what drivers of all kinds need. Exported to the project's own
 * modules only.
 */
@NullMarked
package dev.tidepool.spi.support;

import org.jspecify.annotations.NullMarked;
