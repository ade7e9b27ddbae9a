package dev.tidepool;

/** How a mapping is used. */
public enum MapMode {
  /** Only read: newer bytes are fetched first, and no copy changes. */
  READ,
  /** Only written: nothing is fetched, and bytes that are not written become undefined. */
  WRITE,
  /** Read and written: newer bytes are fetched first; the host's copy is the newest afterwards. */
  READ_WRITE;

  /** Returns whether the mapped bytes may be changed through the mapping. */
  public boolean writes() {
    return this != READ;
  }

  /** Returns whether the mapped bytes hold the buffer's contents when the mapping opens. */
  public boolean reads() {
    return this != WRITE;
  }
}
