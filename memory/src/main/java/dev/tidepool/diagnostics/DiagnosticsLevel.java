package dev.tidepool.diagnostics;

import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;

/**
 * How much is recorded about allocations. Each level includes the levels before it. Every level
 * detects leaks, and reports their tags.
 */
public enum DiagnosticsLevel {
  /** The same as {@link #COUNTERS}, because counters cost too little to be switched off. */
  OFF,
  /** Counters. The default. */
  COUNTERS,
  /**
   * Also a sample of the stacks of allocations, for reports and {@link BufferInfo#site()}. {@link
   * MemoryOptions#siteSampling()} sets the density of the sample.
   */
  SITES,
  /**
   * Also the stack of every allocation. Each buffer whose bytes the host can always access has
   * guard zones around them, which are checked when it is closed and by {@link
   * UnifiedMemoryManager#checkGuards()}. The bytes of closed buffers are overwritten with {@code
   * 0xDD}. Segments of a buffer throw as soon as the buffer is closed. Buffers are not pooled.
   * Slow.
   */
  PARANOID
}
