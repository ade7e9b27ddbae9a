package dev.tidepool.spi;

/**
 * A part of some staged bytes, and where it goes.
 *
 * @param from the first staged byte of it
 * @param destination the whole block that it goes to
 * @param offset the first byte there
 * @param bytes how many; zero is legal
 */
public record Piece(long from, Block destination, long offset, long bytes) {}
