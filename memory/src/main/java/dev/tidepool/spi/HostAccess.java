package dev.tidepool.spi;

/** How the host accesses a block's bytes. */
public enum HostAccess {
  /** By copies only. */
  NONE,
  /** Through the segment, while no command uses the block. */
  DIRECT,
  /**
   * Through the segment, only between {@link Queue#acquire} and {@link Queue#release}. Commands may
   * write the block only while it is released. A new block is released.
   */
  MAPPED
}
