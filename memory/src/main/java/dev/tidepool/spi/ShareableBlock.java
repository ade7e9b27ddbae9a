package dev.tidepool.spi;

/**
 * A block of a device whose memory other processes reach too, by a file descriptor. The memory
 * stays while any process has a block or a descriptor of it, unless the device says otherwise.
 *
 * @param block the memory, as this process's device sees it
 * @param descriptor the receiver's to close
 * @param ticket what else another process needs, in at most 160 ASCII characters; empty if nothing
 */
public record ShareableBlock(Block block, int descriptor, String ticket) {}
