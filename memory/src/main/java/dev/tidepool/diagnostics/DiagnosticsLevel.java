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
   * Also a sample of the stacks that allocate, for reports and {@link BufferInfo#site()}. {@link
   * MemoryOptions#siteSampling()} says how dense the sample is.
   */
  SITES,
  /**
   * Also the stack of every allocation. Each buffer whose bytes the host reaches at all times has
   * guard zones around them, which are checked when it is closed and by {@link
   * UnifiedMemoryManager#checkGuards()}. The bytes of closed buffers are overwritten with {@code
   * 0xDD}. Every segment of a buffer fails as soon as the buffer is closed. Buffers are not pooled.
   * Slow.
   */
  PARANOID
}
