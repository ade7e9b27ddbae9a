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
 * Page-locked memory within the budget that all managers of a session share: what lies idle in the
 * pools of one of them must not keep a buffer of another from being page-locked.
 *
 * <p>Thread-safe, and holds no lock: blocks of other managers are claimed as by their own trimming.
 * The devices stay open, because the caller counts as busy in its own pool.
 */
public final class PinnedReclaimer {
  private final PinnedBudget budget;
  private final Supplier<Stream<ReclaimHandle>> idlePinned;

  /**
   * Creates it for a part of a budget.
   *
   * @param idlePinned what lies idle of it in the pools of all managers that share it
   */
  public PinnedReclaimer(PinnedBudget budget, Supplier<Stream<ReclaimHandle>> idlePinned) {
    this.budget = budget;
    this.idlePinned = idlePinned;
  }

  /** Reserves bytes, if so many are left. */
  boolean reserve(long bytes) {
    return budget.reserve(bytes);
  }

  /**
   * Reserves bytes, for which idle blocks of all managers are freed if necessary, the oldest first;
   * none, if all of them were not enough. Other threads that reserve at the same time may take what
   * was freed.
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
      // A missing event does less harm than a reservation without an owner. No test can fill the
      // heap of the recorder.
      return;
    }
  }

  /** Ends a reservation. */
  void giveBack(long bytes) {
    budget.giveBack(bytes);
  }
}
