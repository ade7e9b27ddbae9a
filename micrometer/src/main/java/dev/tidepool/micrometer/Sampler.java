package dev.tidepool.micrometer;

import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.ref.WeakReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks one manager for its figures, at most ten times a second, and notices that it was closed.
 * Never throws once it is made. Holds the manager weakly, so that a manager that nobody closes is
 * still found by the library. Safe for use by any thread.
 */
final class Sampler {
  static final long PERIOD_NANOS = 100_000_000;

  /** Figures that were taken together. */
  record Sample(MemoryStatistics memory, TransferStatistics transfers) {}

  private final WeakReference<UnifiedMemoryManager> manager;
  private final LongSupplier nanoClock;
  private volatile Runnable whenClosed = () -> {};

  // Written under this.
  private volatile Sample last;
  private volatile long takenAt;
  private volatile boolean closed;

  /**
   * Takes the first sample.
   *
   * @throws IllegalStateException if the manager is closed
   */
  Sampler(UnifiedMemoryManager manager, LongSupplier nanoClock) {
    this.manager = new WeakReference<>(manager);
    this.nanoClock = nanoClock;
    this.last = sample(manager);
    this.takenAt = nanoClock.getAsLong();
  }

  private static Sample sample(UnifiedMemoryManager manager) {
    // The second refuses when the manager is closed; the first would not.
    TransferStatistics transfers = manager.transfers().statistics();
    return new Sample(manager.statistics(), transfers);
  }

  /** Sets what runs when the manager was found closed; perhaps more than once. */
  void whenClosed(Runnable action) {
    whenClosed = action;
  }

  boolean isOf(UnifiedMemoryManager other) {
    return manager.refersTo(other);
  }

  /** The figures now; of a closed manager the last ones, so that no counter falls. */
  Sample now() {
    if (!closed && nanoClock.getAsLong() - takenAt >= PERIOD_NANOS) {
      refresh();
    }
    if (closed) {
      whenClosed.run();
    }
    return last;
  }

  /** Asks at once. */
  void removeIfClosed() {
    refresh();
    if (closed) {
      whenClosed.run();
    }
  }

  private synchronized void refresh() {
    UnifiedMemoryManager present = manager.get();
    if (present == null) {
      closed = true;
      return;
    }
    try {
      last = sample(present);
    } catch (IllegalStateException e) {
      closed = true;
    } catch (RuntimeException e) {
      // The figures of a moment ago serve until the next question.
    }
    takenAt = nanoClock.getAsLong();
  }

  /** What was known when the manager was last asked. */
  Sample last() {
    return last;
  }

  /** The memory of the accelerator; null if it does not answer. */
  @Nullable MemoryInfo deviceMemory() {
    UnifiedMemoryManager present = manager.get();
    try {
      return present == null ? null : present.accelerator().memory();
    } catch (RuntimeException e) {
      return null;
    }
  }
}
