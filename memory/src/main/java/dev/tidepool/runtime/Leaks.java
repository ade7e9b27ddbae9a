package dev.tidepool.runtime;

import dev.tidepool.diagnostics.LeakReport;
import dev.tidepool.runtime.flight.Flight;
import java.lang.System.Logger.Level;
import java.util.Set;

/**
 * Buffers that nobody closed: those that no handle is left of are closed here, and those that were
 * open when their manager closed are told of. Safe for use by any thread.
 */
final class Leaks {
  private final StorageContext memory;
  private final Cohorts cohorts;
  private final Counters counters;
  private final Reports reports;

  Leaks(StorageContext memory, Cohorts cohorts, Counters counters, Reports reports) {
    this.memory = memory;
    this.cohorts = cohorts;
    this.counters = counters;
    this.reports = reports;
  }

  /**
   * Closes buffers that no handle is left of.
   *
   * @param waitNanos how long to wait at most for the collector to find some
   */
  void reclaim(long waitNanos) {
    cohorts.seal();
    Set<Cohort> gone = cohorts.drain(waitNanos);
    if (gone.isEmpty()) {
      return;
    }
    LeakCensus census = new LeakCensus(memory, LeakReport.Cause.UNREACHABLE);
    for (Tenancy tenancy : memory.registry().all()) {
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
  void wereOpen(LeakCensus census) {
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
