package dev.tidepool.runtime.report;

import dev.tidepool.ByteSize;
import dev.tidepool.MemoryLocation;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.diagnostics.LeakReport;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.runtime.storage.BufferCore;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The leaks that were found in one pass, counted by tag, element type, location and allocation
 * site. Used by one thread.
 */
public final class LeakSummary {
  /** The most groups that are logged. The listener is called for every group. */
  private static final int MOST_LINES = 20;

  private record Group(String tag, String elementType, MemoryLocation location, String site) {}

  private record Count(long buffers, long bytes, Duration oldest) {
    Count and(Count other) {
      return new Count(
          buffers + other.buffers,
          bytes + other.bytes,
          oldest.compareTo(other.oldest) < 0 ? other.oldest : oldest);
    }
  }

  private final ManagerContext context;
  private final LeakReport.Cause cause;
  private final Map<Group, Count> groups = new HashMap<>();

  public LeakSummary(ManagerContext context, LeakReport.Cause cause) {
    this.context = context;
    this.cause = cause;
  }

  public void add(BufferCore core) {
    BufferInfo info = core.info();
    groups.merge(
        new Group(info.tag(), info.elementType(), info.location(), info.site()),
        new Count(1, info.byteSize(), info.age()),
        Count::and);
  }

  long buffers() {
    return groups.values().stream().mapToLong(Count::buffers).sum();
  }

  /** Returns one report for each group, those with the most bytes first. */
  List<LeakReport> reports() {
    return groups.entrySet().stream()
        .map(entry -> report(entry.getKey(), entry.getValue()))
        .sorted(Comparator.comparingLong(LeakReport::bytes).reversed())
        .toList();
  }

  private LeakReport report(Group group, Count count) {
    return new LeakReport(
        cause,
        context.accelerator().id(),
        group.tag(),
        group.elementType(),
        group.location(),
        count.buffers(),
        count.bytes(),
        count.oldest(),
        group.site());
  }

  /** Logs a line for each of the largest groups, and one for the rest. */
  void log(DiagnosticSink reports, Level level) {
    List<LeakReport> all = reports();
    for (LeakReport report : all.subList(0, Math.min(MOST_LINES, all.size()))) {
      reports.log(level, report + (report.site().isEmpty() ? hint() : ""));
    }
    if (all.size() > MOST_LINES) {
      List<LeakReport> rest = all.subList(MOST_LINES, all.size());
      reports.log(
          level,
          rest.stream().mapToLong(LeakReport::buffers).sum()
              + " further buffers with "
              + rest.size()
              + " other tags, types and sites, "
              + ByteSize.format(rest.stream().mapToLong(LeakReport::bytes).sum())
              + " in all; a report listener gets each");
    }
  }

  private String hint() {
    return context.options().diagnostics().compareTo(DiagnosticsLevel.SITES) < 0
        ? "; set tidepool.diagnostics=sites to see where it was allocated"
        : "; it was not in the sample: set tidepool.site-sampling=1 to see every site";
  }
}
