package dev.tidepool.diagnostics;

import dev.tidepool.UnifiedMemoryManager;

/**
 * The most bytes that were live in a manager's buffers since {@link UnifiedMemoryManager#pushPeak}.
 * Scopes nest, and may overlap; each counts what all threads allocate, whatever the scope was
 * opened for. Thread-safe.
 *
 * <p><b>How exact.</b> The peak is that of a running sum over all threads, not of samples. What
 * another thread allocates at the moment at which the scope opens, or at which a higher peak is
 * recorded, may be counted only with its next allocation.
 */
public interface PeakScope extends AutoCloseable {
  /** Returns what it was opened for. */
  String name();

  /**
   * Returns the most bytes that were live, as they were requested, including those that were live
   * when the scope opened. Once the scope is closed, the peak until then.
   */
  long peakBytes();

  /** Ends the scope. Idempotent. */
  @Override
  void close();
}
