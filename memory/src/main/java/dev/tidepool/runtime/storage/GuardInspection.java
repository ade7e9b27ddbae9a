package dev.tidepool.runtime.storage;

import dev.tidepool.diagnostics.GuardReport;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.threads.StackReserve;
import java.util.ArrayList;
import java.util.List;

/** Inspects the guard zones of all live buffers of a manager. */
public final class GuardInspection {
  private GuardInspection() {}

  /** Inspects every live buffer that is not lent, by an operation in its queue. */
  public static List<GuardReport> of(StorageContext context) {
    List<GuardReport> found = new ArrayList<>();
    StackReserve.check();
    for (Storage storage : context.storages()) {
      if (storage.holds().isLent()) {
        continue;
      }
      // Not a use of the buffer: it must not take a failure that is kept for the next use.
      Operation.always(
              storage,
              context.transferThreads(),
              () -> found.addAll(damagesOfLive(context, storage)))
          .perform(storage.runsHere());
    }
    return found;
  }

  private static List<GuardReport> damagesOfLive(StorageContext context, Storage storage) {
    // A buffer that was closed meanwhile is inspected when it is freed.
    return storage.lifetime().isClosing()
        ? List.of()
        : context.guards().damages(storage.coherence().backing().owned(), storage.core()::info);
  }
}
