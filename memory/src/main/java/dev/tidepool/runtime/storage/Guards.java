package dev.tidepool.runtime.storage;

import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.GuardReport;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.runtime.supply.GuardedBlock;
import dev.tidepool.spi.Block;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Inspects the guard zones around buffers, at the paranoid level. */
final class Guards {
  private final ManagerContext context;
  private final DiagnosticSink reports;

  Guards(ManagerContext context, DiagnosticSink reports) {
    this.context = context;
    this.reports = reports;
  }

  /** Inspects the blocks of a buffer that ends, if blocks have guards, and reports damages. */
  void inspect(BackingBlocks backing, Supplier<BufferInfo> buffer) {
    if (!context.isParanoid()) {
      return;
    }
    for (GuardReport report : damages(backing.owned(), buffer)) {
      reports.report(Level.ERROR, report);
    }
  }

  /** Returns the damages around the blocks of a buffer. */
  List<GuardReport> damages(List<Block> blocks, Supplier<BufferInfo> buffer) {
    List<GuardReport> damages = new ArrayList<>();
    for (Block block : blocks) {
      if (block instanceof GuardedBlock guarded) {
        guarded.damage().ifPresent(damage -> damages.add(report(buffer.get(), damage)));
      }
    }
    return damages;
  }

  private GuardReport report(BufferInfo buffer, GuardedBlock.Damage damage) {
    return new GuardReport(
        context.accelerator().id(),
        buffer.tag(),
        buffer.elementType(),
        buffer.byteSize(),
        damage.offset(),
        damage.bytes(),
        buffer.age(),
        buffer.site());
  }
}
