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
   * Also the stack of every allocation, and every segment of a closed buffer fails as soon as it is
   * closed; slow.
   */
  PARANOID
}
