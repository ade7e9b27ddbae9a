package dev.tidepool.runtime.storage;

import dev.tidepool.spi.Device;

/** The links from device to device, for copies between buffers. */
public interface PeerPaths {
  /** Returns whether the driver copies from one device to another now. */
  boolean carries(Device from, Device to);

  /**
   * Runs a copy from one device to another, unless the way was closed meanwhile; whether it ran.
   */
  boolean carry(Device from, Device to, long bytes, Runnable copy);

  /** Counts a copy from one device to another that went through the host. */
  void staged(Device from, Device to, long bytes);
}
