package dev.tidepool.runtime.storage;

import dev.tidepool.diagnostics.GuardReport;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.threads.StackReserve;
import java.util.ArrayList;
import java.util.List;

/** A look at the guard zones around all live buffers of a manager. */
public final class GuardInspection {
  private GuardInspection() {}

  /** Looks at every live buffer that is not lent, each in its turn among the work on it. */
  public static List<GuardReport> of(StorageContext context) {
    List<GuardReport> found = new ArrayList<>();
    StackReserve.check();
    for (Storage storage : context.storages()) {
      if (storage.holds().isLent()) {
        continue;
      }
      // Not as a use: it must not get the failure that the next use is to get.
      Operation.always(
              storage,
              context.transferThreads(),
              () -> found.addAll(damagesOfLive(context, storage)))
          .perform(storage.runsHere());
    }
    return found;
  }

  private static List<GuardReport> damagesOfLive(StorageContext context, Storage storage) {
    // A buffer that was closed meanwhile has no blocks any more, and was looked at when it ended.
    return storage.lifetime().isClosing()
        ? List.of()
        : context.guards().damages(storage.coherence().backing().owned(), storage.core()::info);
  }
}
