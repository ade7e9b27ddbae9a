/**
 * Access to the operating system: functions of the C library, files of Linux, and the set of memory
 * that this library allocated.
 */
@NullMarked
package dev.tidepool.host.system;

import org.jspecify.annotations.NullMarked;
