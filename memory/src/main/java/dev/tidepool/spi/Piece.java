package dev.tidepool.spi;

/**
 * A part of some staged bytes, and its place on a device.
 *
 * @param from the first staged byte of it
 * @param block the whole block that it goes to or comes from
 * @param offset the first byte there
 * @param bytes how many; zero is legal
 */
public record Piece(long from, Block block, long offset, long bytes) {}
