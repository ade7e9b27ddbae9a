package dev.tidepool.diagnostics;

import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;

/**
 * How much is recorded about allocations; each level includes those before it. Every level notices
 * leaks, and names them by their tag.
 */
public enum DiagnosticsLevel {
  /** Records what {@link #COUNTERS} records: counters cost too little to leave them out. */
  OFF,
  /** Counters. The default. */
  COUNTERS,
  /**
   * Also the stacks that allocate, for reports and {@link BufferInfo#site()}: a sample, as dense as
   * {@link MemoryOptions#siteSampling()} says.
   */
  SITES,
  /**
   * Also the stack of every allocation; guard zones around the bytes of each buffer that the host
   * reaches at all times, looked at when it is closed and by {@link
   * UnifiedMemoryManager#checkGuards()}; the bytes of closed buffers are overwritten with {@code
   * 0xDD}; and every segment of a closed buffer fails as soon as it is closed. Buffers are not
   * pooled; slow.
   */
  PARANOID
}
