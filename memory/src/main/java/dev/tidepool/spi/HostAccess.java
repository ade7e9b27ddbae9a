package dev.tidepool.spi;

/** How the host reaches a block's bytes. */
public enum HostAccess {
  /** Not at all: by copies only. */
  NONE,
  /** Through its segment, whenever no command that uses the block is under way. */
  DIRECT,
  /**
   * Through its segment, between {@link Queue#acquire} and {@link Queue#release} only; commands
   * that write the block, outside of that only. A new block is released.
   */
  MAPPED
}
