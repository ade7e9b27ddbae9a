/**
 * Small utilities that the library and its backends share: uninterruptible waits, files of one
 * user, settings, and helpers for drivers. Exported only to the project's own modules.
 */
@NullMarked
package dev.tidepool.spi.support;

import org.jspecify.annotations.NullMarked;
