package dev.tidepool.transfer;

/** How bytes are copied from one memory to another. */
public enum TransferWay {
  /** Within the host's memory: a plain copy, without a driver. */
  SAME_MEMORY(false),
  /** Within one device's memory: a copy by its driver. */
  DEVICE_LOCAL(false),
  /** Between devices of one driver. */
  PEER(false),
  /** Between a device and page-locked memory of the host, in place. */
  PINNED_DIRECT(false),
  /** Between a device and other memory of the library, in place. */
  PLAIN_DIRECT(false),
  /** Through page-locked blocks of the library, a chunk at a time. */
  STAGED_PINNED(true),
  /** Through other blocks of the library, a chunk at a time. */
  STAGED_PLAIN(true),
  /**
   * Through blocks of the library, from or to a mapped file or memory that processes share. No
   * driver may access these bytes directly, because a truncated file would end the process.
   */
  MAPPED_FILE(true);

  private final boolean staged;

  TransferWay(boolean staged) {
    this.staged = staged;
  }

  /** Returns whether the bytes pass through blocks of the library. */
  public boolean isStaged() {
    return staged;
  }
}
