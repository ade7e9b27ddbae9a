package dev.tidepool.runtime.report;

import dev.tidepool.diagnostics.LeakReport;
import dev.tidepool.runtime.flight.Flight;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.runtime.metering.LeakDetector;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.StorageContext;
import java.lang.System.Logger.Level;
import java.util.Set;

/**
 * Buffers that nobody closed: those that no handle is left of are closed here, and those that were
 * open when their manager closed are told of. Safe for use by any thread.
 */
public final class LeakReclaimer {
  private final StorageContext memory;
  private final LeakDetector cohorts;
  private final AllocationCounters counters;
  private final DiagnosticSink reports;

  public LeakReclaimer(
      StorageContext memory,
      LeakDetector cohorts,
      AllocationCounters counters,
      DiagnosticSink reports) {
    this.memory = memory;
    this.cohorts = cohorts;
    this.counters = counters;
    this.reports = reports;
  }

  /** Closes buffers that no handle is left of. */
  public void reclaim() {
    cohorts.seal();
    Set<LeakGroup> gone = cohorts.drain();
    if (gone.isEmpty()) {
      return;
    }
    LeakSummary census = new LeakSummary(memory, LeakReport.Cause.UNREACHABLE);
    for (BufferCore tenancy : memory.registry().all()) {
      if (gone.contains(tenancy.cohort()) && tenancy.reclaim()) {
        counters.leaked();
        census.add(tenancy);
        Flight.leaked(
            memory.id(),
            tenancy.type().toString(),
            tenancy.tag(),
            tenancy.byteSize(),
            tenancy.site(),
            tenancy.ageNanos());
      }
    }
    census.log(reports, Level.WARNING);
    census.reports().forEach(reports::tell);
  }

  /**
   * Tells of buffers that were open when the manager closed, and were freed; waits until the
   * listener has heard of them and of all else, as far as it does not block.
   */
  public void wereOpen(LeakSummary census) {
    if (census.buffers() > 0) {
      reports.log(
          Level.INFO,
          "the memory manager of "
              + memory.id()
              + " was closed with "
              + (census.buffers() == 1
                  ? "1 buffer open; it was freed"
                  : census.buffers() + " buffers open; they were freed"));
      census.log(reports, Level.INFO);
      census.reports().forEach(reports::tell);
    }
    reports.awaitHeard();
  }
}
