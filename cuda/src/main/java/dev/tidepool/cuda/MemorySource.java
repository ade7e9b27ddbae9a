package dev.tidepool.cuda;

import dev.tidepool.spi.BlockKind;

/** The driver's ways to allocate. */
enum MemorySource {
  /**
   * The device's memory from a pool of the driver's: neither allocating nor freeing waits for the
   * device.
   */
  POOL(BlockKind.DEVICE),
  /** The device's memory by {@code cuMemAlloc}, whose free waits for all that the device does. */
  PLAIN(BlockKind.DEVICE),
  /** The device's memory in pieces, mapped side by side into reserved addresses. */
  MAPPED(BlockKind.DEVICE),
  /** The device's memory that processes share by a handle of the driver's. */
  SHARED(BlockKind.DEVICE),
  /** The device's memory that other code allocated, and frees. */
  FOREIGN(BlockKind.DEVICE),
  /** Page-locked memory of the host. */
  PINNED(BlockKind.PINNED),
  /** Page-locked memory of the host that its writes reach past its caches. */
  WRITE_COMBINED(BlockKind.PINNED),
  /** Memory whose pages go where they are used. */
  MANAGED(BlockKind.UNIFIED);

  private final BlockKind kind;

  MemorySource(BlockKind kind) {
    this.kind = kind;
  }

  BlockKind kind() {
    return kind;
  }
}
