package dev.tidepool.spi;

/**
 * A block of a device whose memory other processes reach too, by a file descriptor that stands for
 * it. The memory stays while any process has a block or a descriptor of it.
 *
 * @param block the memory, as this process's device sees it
 * @param descriptor the receiver's to close
 */
public record ShareableBlock(Block block, int descriptor) {}
