package dev.tidepool.runtime.supply;

import dev.tidepool.host.PinnedBudget;
import dev.tidepool.pool.block.ReclaimHandle;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.events.TrimEvent;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Reserves page-locked memory within the budget that all managers of a session share. Idle memory
 * in the pools of one manager must not prevent the page-locking of another manager's buffer.
 *
 * <p>Thread-safe, and holds no lock: blocks of other managers are freed as by their own trim. The
 * devices stay open meanwhile, because the caller's pool counts as busy.
 */
public final class PinnedReclaimer implements BudgetedBlock.Budget {
  private final PinnedBudget budget;
  private final Supplier<Stream<ReclaimHandle>> idlePinned;

  /**
   * Creates the reclaimer of a budget.
   *
   * @param idlePinned the idle page-locked blocks in the pools of all managers that share the
   *     budget
   */
  public PinnedReclaimer(PinnedBudget budget, Supplier<Stream<ReclaimHandle>> idlePinned) {
    this.budget = budget;
    this.idlePinned = idlePinned;
  }

  /** Reserves bytes if enough are left; returns whether it did. */
  boolean reserve(long bytes) {
    return budget.reserve(bytes);
  }

  /**
   * Reserves bytes, and frees idle blocks of all managers for that if necessary, the oldest first.
   * Frees none if all of them would not suffice. Other threads may reserve the freed bytes first.
   *
   * @param asker the accelerator that needs them
   */
  boolean reserveByFreeing(long bytes, String asker) {
    if (budget.reserve(bytes)) {
      return true;
    }
    List<ReclaimHandle> idle =
        idlePinned.get().sorted(Comparator.comparingLong(ReclaimHandle::age)).toList();
    long most = idle.stream().mapToLong(ReclaimHandle::bytes).sum();
    return bytes <= budget.limitBytes() - budget.usedBytes() + most && makeOf(idle, bytes, asker);
  }

  private boolean makeOf(List<ReclaimHandle> idle, long bytes, String asker) {
    TrimEvent event = FlightEvents.trim();
    long freed = 0;
    boolean reserved = budget.reserve(bytes);
    for (int i = 0; i < idle.size() && !reserved; i++) {
      freed += idle.get(i).free();
      reserved = budget.reserve(bytes);
    }
    if (event != null) {
      record(event, asker, freed);
    }
    return reserved;
  }

  private static void record(TrimEvent event, String asker, long freed) {
    try {
      event.trimmed(asker, "budget", freed);
    } catch (OutOfMemoryError e) {
      // A missing event is better than a reservation without an owner. No test can fill the
      // recorder's heap.
      return;
    }
  }

  /** Ends a reservation, or a part of one. */
  @Override
  public void freed(long bytes) {
    budget.giveBack(bytes);
  }
}
