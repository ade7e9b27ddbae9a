package dev.tidepool.runtime.report;

import dev.tidepool.diagnostics.LeakReport;
import dev.tidepool.diagnostics.UnclosedReservationReport;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.runtime.metering.LeakDetector;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.StorageContext;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Set;

/**
 * Handles buffers that were not closed. Closes those that have no handle left, and reports those
 * that were open when their manager closed. Thread-safe.
 */
public final class LeakReclaimer {
  private final StorageContext context;
  private final LeakDetector leakDetector;
  private final DiagnosticSink reports;

  public LeakReclaimer(StorageContext context, LeakDetector leakDetector) {
    this.context = context;
    this.leakDetector = leakDetector;
    this.reports = context.reports();
  }

  /**
   * Closes buffers that have no handle left.
   *
   * @param waitNanos how long to wait at most for the collector to find some
   */
  public void reclaim(long waitNanos) {
    leakDetector.seal();
    Set<LeakGroup> gone = leakDetector.drain(waitNanos);
    if (gone.isEmpty()) {
      return;
    }
    LeakSummary summary = new LeakSummary(context, LeakReport.Cause.UNREACHABLE);
    for (BufferCore core : context.registry().all()) {
      if (gone.contains(core.leakGroup()) && core.reclaim()) {
        context.counters().leaked();
        summary.add(core);
        FlightEvents.leaked(
            context.id(),
            core.type().toString(),
            core.tag(),
            core.byteSize(),
            core.site(),
            core.ageNanos());
      }
    }
    summary.log(reports, Level.WARNING);
    summary.reports().forEach(reports::tell);
  }

  /**
   * Reports buffers and reservations that were open when the manager closed, and were ended. Waits
   * until the listener has taken these and all other reports, unless it blocks for long.
   */
  public void wereOpen(LeakSummary summary, List<UnclosedReservationReport> reservations) {
    if (summary.buffers() > 0) {
      reports.log(
          Level.INFO,
          "the memory manager of "
              + context.id()
              + " was closed with "
              + (summary.buffers() == 1
                  ? "1 buffer open; it was freed"
                  : summary.buffers() + " buffers open; they were freed"));
      summary.log(reports, Level.INFO);
      summary.reports().forEach(reports::tell);
    }
    reservations.forEach(reservation -> reports.report(Level.INFO, reservation));
    reports.awaitTaken();
  }
}
