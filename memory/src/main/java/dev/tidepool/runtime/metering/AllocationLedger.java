package dev.tidepool.runtime.metering;

import dev.tidepool.MemoryOptions;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import org.jspecify.annotations.Nullable;

/**
 * Records each allocation and each free. Counts all of them, and keeps the latest if the options
 * request a history. Thread-safe.
 */
public final class AllocationLedger {
  private static final int USUAL_HISTORY = 100_000;

  private final AllocationCounters counters;
  private final long createdNanos = System.nanoTime();
  private final @Nullable AllocationHistory history;

  public AllocationLedger(MemoryOptions options, AllocationCounters counters) {
    this.counters = counters;
    this.history = history(options, createdNanos);
  }

  private static @Nullable AllocationHistory history(MemoryOptions options, long createdNanos) {
    // An entry costs more than an allocation, so the history is kept only if the options request
    // it.
    boolean usual =
        options.diagnostics() == DiagnosticsLevel.PARANOID || options.dumpDirectory().isPresent();
    int events = options.history() == -1 && usual ? USUAL_HISTORY : options.history();
    return events > 0 ? new AllocationHistory(events, createdNanos) : null;
  }

  /** Returns the {@link System#nanoTime} since when allocations are recorded. */
  public long createdNanos() {
    return createdNanos;
  }

  /** Returns the latest allocations and frees, or null if none are kept. */
  public @Nullable AllocationHistory history() {
    return history;
  }

  /** Records an allocation. Called before the buffer is listed among the live ones. */
  public void allocated(String tag, long bytes) {
    counters.allocated(bytes);
    if (history != null) {
      history.add(bytes, tag);
    }
  }

  /**
   * Records a free. Called before the buffer's blocks are returned, so that the buffer and their
   * next owner never count at the same time.
   */
  public void freed(String tag, long bytes) {
    counters.freed(bytes);
    if (history != null) {
      history.add(-bytes, tag);
    }
  }
}
