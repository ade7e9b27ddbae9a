package dev.tidepool.cuda;

import dev.tidepool.spi.BlockKind;

/** The driver's ways to allocate. */
enum MemorySource {
  /**
   * Device memory from a pool of the driver: neither allocating nor freeing waits for the device.
   */
  POOL(BlockKind.DEVICE),
  /** Device memory by {@code cuMemAlloc}, whose free waits for all work of the device. */
  PLAIN(BlockKind.DEVICE),
  /** Device memory in pieces, mapped side by side into reserved addresses. */
  MAPPED(BlockKind.DEVICE),
  /** Device memory that processes share by a handle of the driver. */
  SHARED(BlockKind.DEVICE),
  /** Device memory that other code allocated, and frees. */
  FOREIGN(BlockKind.DEVICE),
  /** Page-locked memory of the host. */
  PINNED(BlockKind.PINNED),
  /** Page-locked memory of the host that the host's writes reach past its caches. */
  WRITE_COMBINED(BlockKind.PINNED),
  /** Memory whose pages move to where they are used. */
  MANAGED(BlockKind.UNIFIED);

  private final BlockKind kind;

  MemorySource(BlockKind kind) {
    this.kind = kind;
  }

  BlockKind kind() {
    return kind;
  }
}
