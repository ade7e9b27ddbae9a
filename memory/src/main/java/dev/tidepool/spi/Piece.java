package dev.tidepool.spi;

/**
 * A part of staged bytes, and its place on a device.
 *
 * @param from the offset of the part in the staged bytes
 * @param block the whole block that the part is copied to or from
 * @param offset the offset of the part in the block
 * @param bytes the number of bytes, 0 or more
 */
public record Piece(long from, Block block, long offset, long bytes) {}
