package dev.tidepool.runtime.metering;

import dev.tidepool.MemoryOptions;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import org.jspecify.annotations.Nullable;

/**
 * What is written down of each allocation and each free: the counts, and the latest of them one by
 * one where options ask for that. Safe for use by any thread.
 */
public final class AllocationLedger {
  private static final int USUAL_HISTORY = 100_000;

  private final AllocationCounters counters;
  private final long createdNanos = System.nanoTime();
  private final @Nullable AllocationHistory history;

  /** Creates a ledger without allocations. */
  public AllocationLedger(MemoryOptions options, AllocationCounters counters) {
    this.counters = counters;
    this.history = history(options, createdNanos);
  }

  private static @Nullable AllocationHistory history(MemoryOptions options, long createdNanos) {
    // An entry costs more than an allocation, so the history is kept only where options ask for it.
    boolean usual =
        options.diagnostics() == DiagnosticsLevel.PARANOID || options.dumpDirectory().isPresent();
    int events = options.history() == -1 && usual ? USUAL_HISTORY : options.history();
    return events > 0 ? new AllocationHistory(events, createdNanos) : null;
  }

  /** Since when allocations are written down, by {@link System#nanoTime}. */
  public long createdNanos() {
    return createdNanos;
  }

  /** The latest allocations and frees; null if none are kept. */
  public @Nullable AllocationHistory history() {
    return history;
  }

  /** A buffer is about to be found among those that live. */
  public void allocated(String tag, long bytes) {
    counters.allocated(bytes);
    if (history != null) {
      history.add(bytes, tag);
    }
  }

  /**
   * A buffer's blocks are about to go, so that their next owner does not seem to be there beside
   * it.
   */
  public void freed(String tag, long bytes) {
    counters.freed(bytes);
    if (history != null) {
      history.add(-bytes, tag);
    }
  }
}
