/**
 * LZ4: blocks, frames and their checksums, over memory segments. Uses the API alone.
 *
 * <p>A <i>block</i> ({@link dev.tidepool.lz4.Lz4Block}) is compressed bytes without any sizes or
 * checks; a <i>frame</i> ({@link dev.tidepool.lz4.Lz4Frame}) is what the {@code lz4} command
 * writes, a header and blocks of at most a given size. Decoding trusts nothing that a file says:
 * every length is checked before a byte is moved, so damaged files are an exception and never a
 * read or a write out of bounds.
 *
 * <p>The formats are those of the LZ4 project: <i>LZ4 Block Format Description</i> and <i>LZ4 Frame
 * Format Description</i> 1.6 (<a href="https://github.com/lz4/lz4/tree/dev/doc">lz4/doc</a>).
 */
@NullMarked
package dev.tidepool.lz4;

import org.jspecify.annotations.NullMarked;
