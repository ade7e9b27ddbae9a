package dev.tidepool.diagnostics;

import dev.tidepool.MemoryOptions;

/**
 * What diagnostics found, for {@link MemoryOptions#reportListener()}. Its text is one sentence for
 * people; the site's frames follow, a line each.
 */
public sealed interface DiagnosticReport
    permits LeakReport,
        GuardReport,
        LostResultReport,
        UnclosedAccessReport,
        UnclosedReport,
        UnclosedReservationReport {
  /** The accelerator whose manager found it, such as {@code cpu:0}. */
  String accelerator();

  /** Returns the name of the owner of the bytes; empty if none was given. */
  String tag();

  /** The stack that allocated them, a line for each frame; empty if that was not recorded. */
  String site();
}
