package dev.tidepool.runtime.storage;

import dev.tidepool.TransferException;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.LostResultReport;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.runtime.order.ManagerContext;
import java.lang.System.Logger.Level;

/**
 * Results of the device that could not be brought back to memory that outlives its buffer: each is
 * counted, logged and reported. Safe for use by any thread.
 */
final class LostResults {
  private final ManagerContext context;
  private final AllocationCounters counters;
  private final DiagnosticSink reports;

  LostResults(ManagerContext context, AllocationCounters counters, DiagnosticSink reports) {
    this.context = context;
    this.counters = counters;
    this.reports = reports;
  }

  /** Tells of a write-back that failed, before the device's copy goes; what to throw for it. */
  TransferException tell(Storage storage, Throwable failure) {
    String text = String.valueOf(failure.getMessage());
    LostResultReport report = report(storage, text);
    return new TransferException(
        storage
            + " was closed, but "
            + report.bytes()
            + " bytes that "
            + (storage.coherence().copies().isDeviceForeign() ? "the host" : context.id())
            + " wrote are lost: "
            + text,
        failure);
  }

  /** Tells of a buffer that became unreachable before its newest bytes were brought back. */
  void tellIfLost(Storage storage) {
    if (storage.coherence().missingBytes() > 0) {
      report(
          storage,
          "the buffer became unreachable without close(); close it, or synchronize its manager,"
              + " before the last reference goes");
    }
  }

  private LostResultReport report(Storage storage, String cause) {
    counters.lostResult();
    BufferInfo info = storage.core().info();
    LostResultReport report =
        new LostResultReport(
            context.id(),
            info.tag(),
            info.elementType(),
            info.location(),
            storage.coherence().missingBytes(),
            cause,
            info.age(),
            info.site());
    reports.log(Level.ERROR, report.toString());
    reports.tell(report);
    return report;
  }
}
