/**
 * The seam between files and the modules that read them compressed: bytes at positions, and the
 * codec that finds them in a compressed file. Uses the API alone.
 *
 * <p>Exported to {@code dev.tidepool.lz4} only. Programs open files with {@code NpyReader} and
 * {@code Pipeline}, which look for a codec when a file needs one.
 */
@NullMarked
package dev.tidepool.codec;

import org.jspecify.annotations.NullMarked;
