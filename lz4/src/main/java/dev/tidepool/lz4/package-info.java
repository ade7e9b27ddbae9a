/**
 * LZ4 files as inputs of pipelines, and LZ4 blocks that are decoded on accelerators.
 *
 * <p>A <i>block</i> is compressed bytes without sizes or checksums; aircompressor compresses and
 * decodes them. A <i>frame</i> ({@link dev.tidepool.lz4.Lz4Frame}) is the output of the {@code lz4}
 * command: a header and blocks of at most a given size. {@link dev.tidepool.lz4.Lz4Codec} lets
 * {@code dev.tidepool.memory} read such files at positions, and {@link
 * dev.tidepool.lz4.Lz4DeviceDecoder} decodes their blocks where the data is needed.
 *
 * <p>No content of a file is trusted: every length is checked before a byte is moved, so a damaged
 * file causes an exception and never a read or a write out of bounds. The codec's accesses to
 * memory are not checked, so it only gets memory that this package allocated.
 *
 * <p>The formats are those of the LZ4 project: <i>LZ4 Block Format Description</i> and <i>LZ4 Frame
 * Format Description</i> 1.6 (<a href="https://github.com/lz4/lz4/tree/dev/doc">lz4/doc</a>).
 */
@NullMarked
package dev.tidepool.lz4;

import org.jspecify.annotations.NullMarked;
