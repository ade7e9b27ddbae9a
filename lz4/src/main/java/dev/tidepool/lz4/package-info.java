/**
 * LZ4 files as inputs of pipelines, and LZ4 blocks that are decoded on accelerators.
 *
 * <p>A <i>block</i> is compressed bytes without any sizes or checks; aircompressor compresses and
 * decodes them. A <i>frame</i> ({@link dev.tidepool.lz4.Lz4Frame}) is what the {@code lz4} command
 * writes: a header and blocks of at most a given size. {@link dev.tidepool.lz4.Lz4Codec} lets
 * {@code dev.tidepool.memory} read such files at positions, and {@link
 * dev.tidepool.lz4.Lz4DeviceDecoder} decodes their blocks where the data is needed.
 *
 * <p>Nothing that a file says is trusted: every length is checked before a byte is moved, so a
 * damaged file is an exception and never a read or a write out of bounds. The codec does not use
 * checked accesses to memory, so it gets memory that this package allocated and nothing else.
 *
 * <p>The formats are those of the LZ4 project: <i>LZ4 Block Format Description</i> and <i>LZ4 Frame
 * Format Description</i> 1.6 (<a href="https://github.com/lz4/lz4/tree/dev/doc">lz4/doc</a>).
 */
@NullMarked
package dev.tidepool.lz4;

import org.jspecify.annotations.NullMarked;
