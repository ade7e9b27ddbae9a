package dev.tidepool.diagnostics;

import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;

/**
 * What management consoles see of a manager, under the name {@code
 * dev.tidepool:type=Memory,accelerator="cpu:0",id=N}, with the option {@link MemoryOptions#jmx()}.
 * It is there from the manager's beginning to its close.
 */
public interface UnifiedMemoryMXBean {
  /** Returns the accelerator's id. */
  String getAccelerator();

  /** Returns the manager's figures now. */
  MemoryStatistics getStatistics();

  /** Returns the part of blocks that a pool served so far, from 0 to 1. */
  double getHitRate();

  /** Gives idle pooled blocks back; returns how many bytes. */
  long trim();

  /** Moves small buffers of the device together; returns how many bytes went back. */
  long defragment();

  /**
   * Writes a {@link Snapshot} to a new file of the machine that the manager runs on, readable for
   * the owner of its process only.
   *
   * @throws IllegalArgumentException if the file exists or cannot be written
   */
  void dump(String file);
}
