/**
 * Files that are read and written at positions, replaced as a whole, and locked while in use.
 *
 * <p>Knows bytes and permissions; what the bytes mean is the format's.
 */
@NullMarked
package dev.tidepool.stream.file;

import org.jspecify.annotations.NullMarked;
