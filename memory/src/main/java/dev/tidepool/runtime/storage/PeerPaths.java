package dev.tidepool.runtime.storage;

import dev.tidepool.spi.Device;

/** The paths between devices, for copies from buffer to buffer. */
public interface PeerPaths {
  /** Returns whether the driver can copy directly between the devices at present. */
  boolean carries(Device from, Device to);

  /** Runs a copy between devices, unless the path was closed meanwhile; returns whether it ran. */
  boolean carry(Device from, Device to, long bytes, Runnable copy);

  /** Counts a copy from one device to another through the host. */
  void staged(Device from, Device to, long bytes);
}
