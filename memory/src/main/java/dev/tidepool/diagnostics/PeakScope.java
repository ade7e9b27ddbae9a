package dev.tidepool.diagnostics;

import dev.tidepool.UnifiedMemoryManager;

/**
 * Measures the most bytes that were live in a manager's buffers since {@link
 * UnifiedMemoryManager#pushPeak}. Scopes nest, and may overlap; each counts the allocations of all
 * threads. Thread-safe.
 *
 * <p><b>Accuracy.</b> The peak is that of a running sum over all threads, not of samples. An
 * allocation of another thread at the moment when the scope opens, or when a higher peak is
 * recorded, may be counted only with that thread's next allocation.
 */
public interface PeakScope extends AutoCloseable {
  /** Returns the name of the scope. */
  String name();

  /**
   * Returns the most requested bytes that were live at a time, including those that were live when
   * the scope opened. For a closed scope, returns the peak until its close.
   */
  long peakBytes();

  /** Ends the scope. Idempotent. */
  @Override
  void close();
}
