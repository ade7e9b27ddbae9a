/**
 * The interface between files and the modules that decompress them: a source of bytes at positions,
 * and the codec that opens a compressed file. Uses only the API.
 *
 * <p>Exported to {@code dev.tidepool.lz4} only. Programs open files with {@code NpyReader} and
 * {@code Pipeline}, which search a codec when a file needs one.
 */
@NullMarked
package dev.tidepool.codec;

import org.jspecify.annotations.NullMarked;
