package dev.tidepool.micrometer;

import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/**
 * The latest figures of one manager. It refers to the manager weakly, so that the library still
 * detects a manager that is never closed. One thread refreshes it, any thread may read it.
 */
final class Sampler {
  /** Figures that were read together. */
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
    // This call fails if the manager is closed; statistics() does not.
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
      // The previous figures remain until the next refresh.
      return true;
    }
  }

  /** Returns the latest figures. Those of a closed manager remain, so that no counter decreases. */
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
