package dev.tidepool.runtime.metering;

import dev.tidepool.MemoryOptions;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import org.jspecify.annotations.Nullable;

/**
 * Records each allocation and each free: counts all, and keeps the latest ones if options ask for
 * that. Thread-safe.
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

  /** Returns the latest allocations and frees; null if none are kept. */
  public @Nullable AllocationHistory history() {
    return history;
  }

  /** A buffer is about to be listed among the live ones. */
  public void allocated(String tag, long bytes) {
    counters.allocated(bytes);
    if (history != null) {
      history.add(bytes, tag);
    }
  }

  /**
   * A buffer's blocks are about to be given back. This is recorded before, so that their next owner
   * and the buffer never count at the same time.
   */
  public void freed(String tag, long bytes) {
    counters.freed(bytes);
    if (history != null) {
      history.add(-bytes, tag);
    }
  }
}
