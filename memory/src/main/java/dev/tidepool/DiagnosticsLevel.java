package dev.tidepool;

/** How much is recorded about allocations; each level includes those before it. */
public enum DiagnosticsLevel {
  /** Counters, and leaks by their tag. */
  COUNTERS,
  /** Also the place that allocated each buffer, for reports and {@link BufferInfo#site()}. */
  SITES,
  /** Also every segment of a closed buffer fails as soon as it is closed; slow. */
  PARANOID
}
