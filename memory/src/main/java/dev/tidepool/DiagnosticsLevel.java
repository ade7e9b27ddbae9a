package dev.tidepool;

/**
 * How much is recorded about allocations; each level includes those before it. Every level notices
 * leaks, and names them by their tag.
 */
public enum DiagnosticsLevel {
  /**
   * Nothing is counted where buffers are allocated and freed. Figures that are only known by
   * counting say 0, as {@link MemoryStatistics} tells of each; what lives and what the pools hold
   * is looked up all the same.
   */
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
