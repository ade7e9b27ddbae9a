package dev.tidepool.transfer;

/** How bytes get from one memory to another. */
public enum TransferWay {
  /**
   * One buffer's bytes and the other's are in the host's memory: a plain copy, without a driver.
   */
  SAME_MEMORY(false),
  /** A copy within one device's memory, by its driver. */
  DEVICE_LOCAL(false),
  /** A copy between devices of one driver. */
  PEER(false),
  /** Between a device and page-locked memory of the host, where it lies. */
  PINNED_DIRECT(false),
  /** Between a device and other memory of the library's, where it lies. */
  PLAIN_DIRECT(false),
  /** Through page-locked blocks of the library's, a chunk at a time. */
  STAGED_PINNED(true),
  /** Through other blocks of the library's, a chunk at a time. */
  STAGED_PLAIN(true),
  /**
   * Through blocks of the library's from or to a mapped file, or memory that processes share, whose
   * bytes no driver may touch: a file that is cut off would end the process.
   */
  MAPPED_FILE(true);

  private final boolean staged;

  TransferWay(boolean staged) {
    this.staged = staged;
  }

  /** Returns whether the bytes pass through blocks of the library's on their way. */
  public boolean isStaged() {
    return staged;
  }
}
