package dev.tidepool;

/** What a mapping will be used for. */
public enum MapMode {
  /** Only read: fetched first, changes no side. */
  READ,
  /** Only written: nothing is fetched, bytes that were not written are undefined afterwards. */
  WRITE,
  /** Read and written: fetched first, the host's side is the newer one afterwards. */
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
