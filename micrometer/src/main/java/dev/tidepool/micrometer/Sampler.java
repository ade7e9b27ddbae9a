package dev.tidepool.micrometer;

import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/**
 * The latest figures of one manager. Holds the manager weakly, so that a manager that is never
 * closed is still found by the library. Refreshed by one thread, read by any.
 */
final class Sampler {
  /** Figures that were taken together. */
  record Sample(MemoryStatistics memory, TransferStatistics transfers) {}

  private final WeakReference<UnifiedMemoryManager> manager;
  private volatile Sample last;

  /**
   * Takes the first sample.
   *
   * @throws IllegalStateException if the manager is closed
   */
  Sampler(UnifiedMemoryManager manager) {
    this.manager = new WeakReference<>(manager);
    this.last = sample(manager);
  }

  private static Sample sample(UnifiedMemoryManager manager) {
    // This refuses when the manager is closed; statistics() would not.
    TransferStatistics transfers = manager.transfers().statistics();
    return new Sample(manager.statistics(), transfers);
  }

  boolean isOf(UnifiedMemoryManager other) {
    return manager.refersTo(other);
  }

  /**
   * Takes another sample; never throws.
   *
   * @return whether the manager is open
   */
  boolean refresh() {
    UnifiedMemoryManager present = manager.get();
    if (present == null) {
      return false;
    }
    try {
      last = sample(present);
      return true;
    } catch (IllegalStateException closed) {
      return false;
    } catch (RuntimeException e) {
      // The figures of a moment ago serve until the next question.
      return true;
    }
  }

  /** Returns the latest figures; of a closed manager the last ones, so that no counter falls. */
  Sample last() {
    return last;
  }

  /** Returns the memory of the accelerator; null if it does not answer. */
  @Nullable MemoryInfo deviceMemory() {
    UnifiedMemoryManager present = manager.get();
    try {
      return present == null ? null : present.accelerator().memory();
    } catch (RuntimeException e) {
      return null;
    }
  }
}
