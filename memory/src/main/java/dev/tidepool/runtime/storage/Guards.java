package dev.tidepool.runtime.storage;

import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.GuardReport;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.runtime.order.ManagerContext;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.StackReserve;
import dev.tidepool.runtime.supply.GuardedBlock;
import dev.tidepool.spi.Block;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;

/** Looks at the guard zones around buffers, at the paranoid level. */
public final class Guards {
  private final ManagerContext context;
  private final BufferRegistry registry;
  private final DiagnosticSink reports;

  Guards(ManagerContext context, BufferRegistry registry, DiagnosticSink reports) {
    this.context = context;
    this.registry = registry;
    this.reports = reports;
  }

  /** Looks at a buffer that ends: nothing uses it any more. Never throws. */
  void inspect(Storage storage) {
    for (GuardReport report : damages(storage)) {
      reports.log(Level.ERROR, report.toString());
      reports.tell(report);
    }
  }

  /** Looks at every live buffer that is not lent, each in its turn among the work on it. */
  public List<GuardReport> inspectAll() {
    List<GuardReport> found = new ArrayList<>();
    StackReserve.check();
    for (Storage storage : registry.awake()) {
      if (storage.isLent()) {
        continue;
      }
      // Not as a use: it must not get the failure that the next use is to get.
      Operation.always(
              storage, context.transferThreads(), () -> found.addAll(damagesOfLive(storage)))
          .perform(storage.runsHere());
    }
    return found;
  }

  private List<GuardReport> damagesOfLive(Storage storage) {
    // A buffer that was closed meanwhile has no blocks any more, and was looked at when it ended.
    return storage.isClosing() ? List.of() : damages(storage);
  }

  private List<GuardReport> damages(Storage storage) {
    List<GuardReport> damages = new ArrayList<>();
    for (Block block : storage.coherence().copies().owned()) {
      if (block instanceof GuardedBlock guarded) {
        guarded.damage().ifPresent(damage -> damages.add(report(storage, damage)));
      }
    }
    return damages;
  }

  private GuardReport report(Storage storage, GuardedBlock.Damage damage) {
    BufferInfo info = storage.core().info();
    return new GuardReport(
        context.accelerator().id(),
        info.tag(),
        info.elementType(),
        info.byteSize(),
        damage.offset(),
        damage.bytes(),
        info.age(),
        info.site());
  }
}
