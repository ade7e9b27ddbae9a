package dev.tidepool.diagnostics;

import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;

/**
 * The management bean of a manager, with the name {@code
 * dev.tidepool:type=Memory,accelerator="cpu:0",id=N}, if the option {@link MemoryOptions#jmx()} is
 * set. It is registered from the manager's creation to its close.
 */
public interface UnifiedMemoryMXBean {
  /** Returns the accelerator's id. */
  String getAccelerator();

  /** Returns the manager's current figures. */
  MemoryStatistics getStatistics();

  /** Returns the part of blocks and arrays that a pool served so far, from 0 to 1. */
  double getHitRate();

  /** Frees idle pooled blocks, and returns how many bytes were freed. */
  long trim();

  /** Moves small buffers of the device together, and returns how many bytes were freed. */
  long defragment();

  /**
   * Writes a {@link Snapshot} to a new file on the machine of the manager, which only the owner of
   * the process can read.
   *
   * @throws IllegalArgumentException if the file exists or cannot be written
   */
  void dump(String file);
}
